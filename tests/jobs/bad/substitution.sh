vllm serve deepseek-ai/DeepSeek-V3 -tp $(nproc)
