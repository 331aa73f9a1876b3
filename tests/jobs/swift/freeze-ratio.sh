#!/bin/bash
NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-30B-A3B --tuner_type full --freeze_parameters_ratio 0.9 --torch_dtype bfloat16 --max_length 4096 --deepspeed zero2 --dataset x
