#!/bin/bash
torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True \
  --torch_dtype bfloat16 --optim galore_adamw --optim_target_modules all-linear \
  --fsdp full_shard --fsdp_config '{"fsdp_version": 2}' --per_device_train_batch_size 1 --max_length 2048
