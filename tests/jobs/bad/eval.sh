eval "vllm serve deepseek-ai/DeepSeek-V3"
