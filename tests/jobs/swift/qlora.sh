#!/bin/bash
#moeplan cluster=h100
# A base in few bits, DeepSpeed's file as a text, the script behind torchrun.
torchrun --nproc_per_node=2 swift/cli/sft.py --model mistralai/Mixtral-8x7B-Instruct-v0.1 \
    --quant_method bnb --quant_bits 4 --bnb_4bit_use_double_quant false \
    --target_modules all-linear --modules_to_save lm_head --per_device_train_batch_size 4 --max_length 1024 \
    --deepspeed '{"zero_optimization": {"stage": 2, "reduce_bucket_size": 1e8}, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto"}' \
    --activation_cpu_offload true
