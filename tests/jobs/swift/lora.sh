#!/bin/bash
#moeplan cluster=h100
# One device, adapters on all that is linear, flags with dashes and underscores.
export CUDA_VISIBLE_DEVICES=3
swift sft \
    --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
    --tuner_type lora \
    --dataset 'team/dialogues#500' \
              'team/facts#200' \
    --max-length 4096 \
    --per-device-train-batch-size 2 \
    --lora_rank 16 \
    --target_modules q_proj k_proj v_proj o_proj \
    --target_parameters mlp.experts.gate_up_proj mlp.experts.down_proj \
    --lora_dtype bfloat16 \
    --router_aux_loss_coef 1e-3 \
    --output_dir out
