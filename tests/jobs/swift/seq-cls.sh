#!/bin/bash
#moeplan cluster=h100
# A classifier: a head of four labels in place of the vocabulary's.
NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --task_type seq_cls --num_labels 4 \
  --tuner_type full --deepspeed zero2 --per_device_train_batch_size 2 --max_length 8192 \
  --dataset team/labelled
