#!/bin/bash
torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True \
  --torch_dtype bfloat16 --optim galore_adamw_8bit --optim_target_modules attn mlp \
  --optim_args "update_proj_gap=200, rank=2k" --per_device_train_batch_size 1 --max_length 2048
