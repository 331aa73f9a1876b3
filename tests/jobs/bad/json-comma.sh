#moeplan cluster=h200-8x1
vllm serve deepseek-ai/DeepSeek-R1 -tp 8 --speculative-config '{"method": "mtp", "num_speculative_tokens": 1,}'
