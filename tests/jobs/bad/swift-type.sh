#moeplan cluster=h100
NPROC_PER_NODE=8 swift rlhf --rlhf_type ddpo --model Qwen/Qwen3-30B-A3B --max_length 2048
