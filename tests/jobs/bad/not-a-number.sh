vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size eight
