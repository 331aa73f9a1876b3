#!/bin/bash
#moeplan cluster=h100
NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B --tuner_type full \
    --use_vllm true --vllm_mode colocate --vllm_quantization fp8 --sleep_level 1 \
    --vllm_tensor_parallel_size 4 --max_length 4096 --per_device_train_batch_size 1 \
    --num_generations 8 --beta 0 --deepspeed zero3
