#!/bin/bash
#moeplan cluster=h100
# An engine on the same devices, which sleeps while all weights are trained.
CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 \
NPROC_PER_NODE=8 \
swift rlhf \
    --rlhf_type grpo \
    --model Qwen/Qwen3-30B-A3B-Thinking-2507 \
    --tuner_type full \
    --use_vllm true \
    --vllm_mode colocate \
    --vllm_gpu_memory_utilization 0.45 \
    --vllm_tensor_parallel_size 4 \
    --sleep_level 1 \
    --max_length 4000 \
    --max_completion_length 6000 \
    --per_device_train_batch_size 1 \
    --num_generations 16 \
    --reward_funcs accuracy format \
    --beta 0.01 \
    --deepspeed zero3_offload
