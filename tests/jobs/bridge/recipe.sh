#!/bin/bash
# A recipe with Hydra overrides: added, changed and removed keys.
#moeplan cluster=h100-8x1
./scripts/train.sh --recipe qwen3_30b_a3b_pretrain_config \
    model.expert_model_parallel_size=8 '+model.recompute_modules=[moe_act]' \
    +model.recompute_granularity=selective ~comm_overlap \
    train.micro_batch_size=1 train.global_batch_size=512 model.seq_length=4096
