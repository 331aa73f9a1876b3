#!/bin/bash
#moeplan cluster=h100
cat > ddp.yaml <<'EOF'
distributed_type: 'MULTI_GPU'
mixed_precision: bf16
num_machines: 1
num_processes: 8
EOF
accelerate launch --config_file ddp.yaml run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --block_size 2048 --optim adamw_torch_fused
