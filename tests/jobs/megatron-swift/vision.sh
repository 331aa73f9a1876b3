#!/bin/bash
#moeplan cluster=h200
NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-VL-30B-A3B-Instruct --tuner_type full \
    --freeze_aligner false --expert_model_parallel_size 8 --micro_batch_size 1 \
    --global_batch_size 32 --max_length 8192 --attention_backend unfused \
    --megatron_extra_kwargs '{"moe_router_force_load_balancing": true}' --optimizer dist_muon
