#!/bin/bash
#moeplan cluster=h100
# Pairs, by a file of flags beside the launch.
cat > dpo.yaml <<'YAML'
model: moonshotai/Moonlight-16B-A3B-Instruct
rlhf_type: dpo
tuner_type: full
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
dataset:
  - team/pairs
deepspeed: swift/llm/ds_config/zero2_offload.json
YAML
NPROC_PER_NODE=8 swift rlhf --config dpo.yaml --max_length 8192
