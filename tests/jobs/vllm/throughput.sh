#moeplan cluster=h100
vllm serve Qwen/Qwen3-30B-A3B -tp 2 --max-model-len 8192 --performance-mode throughput
