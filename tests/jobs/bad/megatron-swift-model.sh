#moeplan cluster=h100
NPROC_PER_NODE=8 megatron sft --load checkpoints/last --max_length 2048
