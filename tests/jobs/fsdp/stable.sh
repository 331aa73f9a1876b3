#!/bin/bash
#moeplan cluster=h200
accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16 run_clm.py \
  --model_name_or_path allenai/OLMoE-1B-7B-0924 --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --block_size 2048 --optim stable_adamw
