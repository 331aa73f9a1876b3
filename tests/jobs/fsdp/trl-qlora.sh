#!/bin/bash
#moeplan cluster=h200
# TRL's own dropout; adapters beside a base in few bits are in 16 bits.
trl sft --accelerate_config single_gpu --model_name_or_path Qwen/Qwen3-30B-A3B \
  --dataset_name open-r1/Mixture-of-Thoughts --per_device_train_batch_size 1 \
  --use_peft --load_in_4bit --use_dora --lora_target_modules q_proj v_proj \
  --optim paged_adamw_32bit
