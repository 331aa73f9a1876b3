#!/bin/bash
# TRL's own command: its flags in one file, Accelerate's in another; the command line holds.
cat > accelerate.yaml <<'EOF'
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
mixed_precision: bf16
num_machines: 2
num_processes: 16
EOF
cat > sft.yaml <<'EOF'
model_name_or_path: Qwen/Qwen3-30B-A3B
per_device_train_batch_size: 4
max_length: 4096
optim: adamw_8bit
use_liger_kernel: true
use_peft: true
lora_r: 32
EOF
trl sft --config sft.yaml --accelerate_config accelerate.yaml --per_device_train_batch_size 2
