#moeplan cluster=h100
NNODES=$WORLD_SIZE NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-30B-A3B --max_length 2048
