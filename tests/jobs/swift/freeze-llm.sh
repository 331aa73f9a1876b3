#!/bin/bash
#moeplan cluster=h100-8x1
#moeplan workload.encoder.patches=4096
# The vision encoder and its projector are trained, of the language model the head alone.
NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-VL-8B-Instruct --train_type full \
  --freeze_llm true --freeze_vit false --freeze_aligner false --torch_dtype bfloat16 \
  --deepspeed zero2 --max_length 4096 --per_device_train_batch_size 1
