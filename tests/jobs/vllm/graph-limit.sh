#moeplan cluster=h100
vllm serve Qwen/Qwen3-30B-A3B -tp 2 --max-model-len 8192 --max-num-seqs 256 \
  --max-cudagraph-capture-size 128 --offload-group-size 8 --offload-num-in-group 1
