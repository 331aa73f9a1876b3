#!/bin/bash
#moeplan cluster=h100
PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' \
NPROC_PER_NODE=2 \
CUDA_VISIBLE_DEVICES=0,1 \
megatron sft \
    --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
    --dataset 'team/dialogues#2000' \
              'team/facts#600' \
    --tuner_type lora \
    --target_modules all-linear \
    --expert_model_parallel_size 2 \
    --moe_permute_fusion true \
    --moe_shared_expert_overlap true \
    --moe_aux_loss_coeff 1e-3 \
    --micro_batch_size 4 \
    --recompute_granularity full \
    --recompute_method uniform \
    --recompute_num_layers 2 \
    --cross_entropy_loss_fusion true \
    --max_length 4096 \
    --finetune \
    --no_save_optim true
