#!/bin/bash
#moeplan cluster=h100
NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B \
    --tensor_model_parallel_size 4 --sequence_parallel true --expert_model_parallel_size 8 \
    --micro_batch_size 1 --global_batch_size 128 --num_generations 8 \
    --max_length 4096 --max_completion_length 4096 --vllm_tensor_parallel_size 2 \
    --vllm_gpu_memory_utilization 0.5 --sleep_level 1 --beta 0.04 \
    --recompute_granularity selective --recompute_modules core_attn moe
