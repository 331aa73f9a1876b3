#!/bin/bash
deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --max_len 4096 --dataset Open-Orca/OpenOrca \
  --train_batch_size 256 --micro_train_batch_size 2 --pretrain Qwen/Qwen3-30B-A3B --zero_stage 3 \
  --max_epochs 1 --packing_samples --bf16 --flash_attn --learning_rate 5e-6 \
  --gradient_checkpointing --adam_offload
