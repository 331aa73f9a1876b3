#!/bin/bash
# Q-GaLore: moments of what is projected in 8 bits.
NPROC_PER_NODE=1 swift sft --model Qwen/Qwen3-8B --tuner_type full --use_galore true --galore_rank 64 \
  --galore_quantization true --torch_dtype bfloat16 --max_length 4096 --dataset x
