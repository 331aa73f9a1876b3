#!/bin/bash
#moeplan cluster=h100-8x1
# Adapters of experts with a rank for each of a token's eight.
torchrun --nproc-per-node=8 scripts/training/run_recipe.py \
  --recipe qwen3_30b_a3b_finetune_config --peft_scheme lora peft.dim=64 \
  peft.normalize_moe_lora=true peft.share_expert_adapters=false \
  model.expert_model_parallel_size=8 model.seq_length=4096 \
  train.micro_batch_size=1 train.global_batch_size=32
