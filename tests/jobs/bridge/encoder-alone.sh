#!/bin/bash
#moeplan cluster=h100-8x2
# A vision model whose language model stays as it is.
torchrun --nproc-per-node=8 --nnodes=2 scripts/training/run_recipe.py \
  --recipe qwen3_vl_30b_a3b_finetune_config model.freeze_language_model=true \
  model.freeze_vision_model=false model.freeze_vision_projection=false \
  model.expert_model_parallel_size=8 model.seq_length=4096 \
  train.micro_batch_size=1 train.global_batch_size=32
