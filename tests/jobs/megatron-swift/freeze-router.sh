#!/bin/bash
NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type full --expert_model_parallel_size 8 --freeze_parameters_regex 'router' --max_length 4096 --micro_batch_size 1 --global_batch_size 16 --dataset x
