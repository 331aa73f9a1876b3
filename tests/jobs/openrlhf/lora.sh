#!/bin/bash
deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen3-30B-A3B --lora_rank 64 \
  --micro_train_batch_size 1 --gradient_checkpointing --bf16
