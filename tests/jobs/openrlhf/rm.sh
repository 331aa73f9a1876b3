#!/bin/bash
deepspeed --num_gpus 8 --module openrlhf.cli.train_rm --max_len 8192 --pretrain Qwen/Qwen3-8B \
  --train_batch_size 256 --micro_train_batch_size 1 --zero_stage 3 --bf16 --packing_samples \
  --gradient_checkpointing --dataset pairs
