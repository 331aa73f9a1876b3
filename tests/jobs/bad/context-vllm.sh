#moeplan cluster=h200-8x1
vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8 --max-model-len 400000
