#!/bin/bash
#moeplan cluster=h100
# No field is overridden: the layout is the recipe's.
torchrun --nproc-per-node=8 --nnodes=8 scripts/training/run_recipe.py --recipe qwen3_235b_a22b_sft_config \
  train.global_batch_size=64
