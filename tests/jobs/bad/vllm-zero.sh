#moeplan cluster=h100-8x1
vllm serve Qwen/Qwen3-30B-A3B --max-num-seqs 0
