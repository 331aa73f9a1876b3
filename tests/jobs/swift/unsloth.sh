#!/bin/bash
#moeplan cluster=h100-1x1
# Unsloth's layers by ms-swift: what they read waits in host memory, the logits are made.
swift sft --model Qwen/Qwen3-8B --tuner_backend unsloth --tuner_type lora --lora_dropout 0 \
  --per_device_train_batch_size 4 --max_length 4096 --dataset team/texts
