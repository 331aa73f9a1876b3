#!/bin/bash
#moeplan cluster=h100
# HuggingFace's trainer: what the file calls "auto" stands among its own flags.
deepspeed --num_gpus=8 --master_port 29500 finetune.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --deepspeed zero3-auto.json \
  --per_device_train_batch_size 1 --gradient_checkpointing True --bf16 True \
  --max_seq_length 4096 --output_dir out --learning_rate 1e-5
