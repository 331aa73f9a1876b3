#!/bin/bash
#moeplan cluster=h100
# Two nodes by torchrun, the file beside the launch, changed behind it.
cat > full_sft.yaml <<'EOF'
model_name_or_path: deepseek-ai/DeepSeek-V2-Lite
stage: sft
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_offload_config.json
dataset: alpaca_en_demo
template: deepseek
cutoff_len: 2048
packing: true
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
EOF
FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 NPROC_PER_NODE=8 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \
  llamafactory-cli train full_sft.yaml per_device_train_batch_size=4 learning_rate=1e-5
