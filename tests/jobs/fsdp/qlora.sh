#!/bin/bash
#moeplan cluster=h100-8x1
# TRL on FSDP: adapters beside a base in NF4 with its scales quantised, packed sequences.
accelerate launch --use_fsdp --fsdp_version 2 --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP \
  --mixed_precision bf16 --num_processes 8 sft.py --model_name_or_path Qwen/Qwen3-30B-A3B \
  --load_in_4bit --use_bnb_nested_quant --bnb_4bit_quant_type nf4 --use_peft --lora_r 16 \
  --lora_target_modules all-linear --packing true --max_length 4096 \
  --per_device_train_batch_size 1 --gradient_checkpointing true
