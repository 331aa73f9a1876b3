#!/bin/bash
#moeplan cluster=h100
# Adapters beside a base in 8 bits (LLM.int8()) under ZeRO 2.
accelerate launch --use_deepspeed --zero_stage 2 --num_processes 8 --mixed_precision bf16 sft.py \
  --model_name_or_path mistralai/Mixtral-8x7B-v0.1 --load_in_8bit --use_peft --lora_r=8 \
  --max_length 2048 --per_device_train_batch_size 2
