#!/bin/bash
#moeplan cluster=h200
# A vision model without its visual part.
NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-VL-30B-A3B-Instruct --tuner_type full \
    --language_model_only true --expert_model_parallel_size 8 --micro_batch_size 1 \
    --global_batch_size 32 --max_length 8192
