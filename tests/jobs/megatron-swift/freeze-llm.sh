#!/bin/bash
#moeplan cluster=h100-8x1
#moeplan workload.encoder.patches=4096
# The projector alone is trained; the language model's head goes with the rest of it.
NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-VL-30B-A3B-Instruct --train_type full \
  --freeze_llm true --freeze_vit true --freeze_aligner false --max_length 4096 \
  --tensor_model_parallel_size 1 --expert_model_parallel_size 8 --micro_batch_size 1 \
  --global_batch_size 16
