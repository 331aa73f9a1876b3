#!/bin/bash
#moeplan cluster=h100
# A teacher of another shape, a generating engine that stays awake.
NPROC_PER_NODE=8 megatron rlhf --rlhf_type gkd --model Qwen/Qwen3-30B-A3B --tuner_type lora \
    --teacher_model Qwen/Qwen3-235B-A22B --expert_model_parallel_size 8 --max_length 2048 \
    --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 --torch_dtype bfloat16
