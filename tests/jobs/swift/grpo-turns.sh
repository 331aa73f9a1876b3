#!/bin/bash
#moeplan cluster=h100
# Trainer and engine take turns, sequences are shared out (Ulysses), no reference.
MASTER_PORT=29501 NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-30B-A3B \
    --train_type full --use_vllm true --vllm_mode colocate --sleep_level 2 \
    --offload_model true --offload_optimizer true --move_model_batches 16 \
    --sequence_parallel_size 4 --max_length 2048 --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 8 --beta 0.0 --deepspeed zero3
