#moeplan cluster=h200-8x1
vllm serve Qwen/Qwen3-30B-A3B --gpu-memory-utilization 90%
