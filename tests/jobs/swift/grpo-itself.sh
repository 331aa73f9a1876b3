#!/bin/bash
#moeplan cluster=h100-8x1
# GRPO whose model writes its answers itself: two batches of eight at once, weights gathered.
NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen3-8B --train_type full \
  --torch_dtype bfloat16 --deepspeed zero3 --max_length 1024 --max_completion_length 1024 \
  --per_device_train_batch_size 8 --gradient_accumulation_steps 1 --steps_per_generation 2 \
  --num_generations 8 --reward_funcs accuracy --beta 0
