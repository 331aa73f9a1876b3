#!/bin/bash
#moeplan cluster=h100
NPROC_PER_NODE=8 megatron rlhf --rlhf_type dpo --model Qwen/Qwen3-30B-A3B --train_type full \
    --expert_model_parallel_size 8 --micro_batch_size 2 --global_batch_size 32 \
    --max_length 2048 --recompute_granularity full --recompute_method block \
    --recompute_num_layers 24 --moe_token_dispatcher_type flex --moe_enable_deepep true
