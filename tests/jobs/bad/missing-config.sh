#moeplan cluster=h100
vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --config gone.yaml
