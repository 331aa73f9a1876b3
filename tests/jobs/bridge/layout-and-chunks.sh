#!/bin/bash
#moeplan cluster=h100
# Recipes say the number of chunks beside the layout; one chunk is empty.
torchrun --nproc_per_node=8 --nnodes=32 scripts/training/run_recipe.py \
  --recipe deepseek_v3_pretrain_config --peft_scheme lora train.micro_batch_size=1 \
  train.global_batch_size=2048 model.pipeline_model_parallel_size=16 \
  model.virtual_pipeline_model_parallel_size=2 model.expert_model_parallel_size=16 \
  "model.pipeline_model_parallel_layout='Et|(tt|)*29tt|L'" model.recompute_granularity=full \
  model.recompute_method=uniform model.recompute_num_layers=1 model.seq_length=4096
