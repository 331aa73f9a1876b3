#!/bin/bash
#moeplan cluster=h100
# The Trainer alone: every rank has all, adapters beside a base in few bits.
accelerate launch --multi_gpu --num_processes 4 sft.py --model_name_or_path Qwen/Qwen3-30B-A3B \
  --load_in_4bit --use_peft --lora_r 16 --lora_target_modules q_proj k_proj v_proj o_proj \
  --max_length 2048 --per_device_train_batch_size 2 --gradient_checkpointing --bf16
