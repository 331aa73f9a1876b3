#!/bin/bash
#moeplan cluster=h100-8x1
# A quantised base without adapters trains nothing.
accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 --mixed_precision bf16 sft.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --load_in_4bit --max_length 4096 \
  --per_device_train_batch_size 1
