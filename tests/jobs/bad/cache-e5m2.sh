#moeplan cluster=h200-8x1
vllm serve deepseek-ai/DeepSeek-R1 -tp 8 --kv-cache-dtype fp8_e5m2
