#!/bin/bash
#moeplan cluster=h100
cat > dpo.yaml <<'EOF'
model_name_or_path: Qwen/Qwen3-30B-A3B
stage: dpo
do_train: true
finetuning_type: full
pref_beta: 0.1
deepspeed: {zero_optimization: {stage: 3, offload_optimizer: {device: cpu}}, bf16: {enabled: auto}}
dataset: dpo_en_demo
template: qwen3
cutoff_len: 2048
per_device_train_batch_size: 1
bf16: true
use_unsloth_gc: true
EOF
deepspeed --num_gpus 8 src/train.py dpo.yaml
