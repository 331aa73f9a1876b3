#!/bin/bash
#moeplan cluster=h100
# A reward model: one score, and both answers in one batch.
NPROC_PER_NODE=8 swift rlhf --rlhf_type rm --model Qwen/Qwen3-8B --tuner_type lora \
  --per_device_train_batch_size 2 --max_length 4096 --dataset team/pairs
