#!/bin/bash
# The recipe of per-tensor current scaling leaves the first and the last layer in bf16.
torchrun --nproc_per_node=8 --nnodes=2 scripts/training/run_recipe.py \
  --recipe qwen3_30b_a3b_pretrain_config model.expert_model_parallel_size=8 \
  model.pipeline_model_parallel_size=1 model.seq_length=4096 train.micro_batch_size=1 \
  train.global_batch_size=512 mixed_precision=bf16_with_fp8_current_scaling_mixed
