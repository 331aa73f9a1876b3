#!/bin/bash
torchrun --nproc-per-node 8 --nnodes 32 scripts/performance/run_script.py \
  --model_family_name deepseek --model_recipe_name deepseek_v3 --compute_dtype bf16 --num_gpus 256 --gpu h100
