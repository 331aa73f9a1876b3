NNODES=$1
torchrun --nnodes $(( NNODES * 2 )) --nproc_per_node 8 pretrain_gpt.py --num-layers 2
