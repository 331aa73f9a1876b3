#moeplan cluster=h100
#moeplan paralel.tp=2
vllm serve deepseek-ai/DeepSeek-V3 -tp 8
