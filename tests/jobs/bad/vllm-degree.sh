#moeplan cluster=h100-8x1
vllm serve Qwen/Qwen3-30B-A3B -tp 2 --pipeline-parallel-size 0
