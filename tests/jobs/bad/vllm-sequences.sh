#moeplan cluster=h200-8x1
vllm serve Qwen/Qwen3-30B-A3B --max-num-batched-tokens 512 --max-num-seqs 513
