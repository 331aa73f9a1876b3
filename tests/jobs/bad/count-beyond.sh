vllm serve deepseek-ai/DeepSeek-V3 -tp 999999999999999G
