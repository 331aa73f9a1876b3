#!/bin/bash
#moeplan cluster=l40s
cat > fsdp.yaml <<'EOF'
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_use_orig_params: false
mixed_precision: bf16
num_machines: 1
num_processes: 2
EOF
CUDA_VISIBLE_DEVICES=0,1 accelerate launch \
    --config_file fsdp.yaml \
    src/train.py qlora.yaml
