#!/bin/bash
#moeplan cluster=h100
# The launcher's hosts stand in a file, of which it takes the first two.
cat > hosts <<'EOF'
# rack 3
worker-1 slots=8
worker-2 slots=8

worker-3 slots=8
EOF
cat > zero3.json <<'EOF'
{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}
EOF
deepspeed --hostfile hosts --num_nodes 2 train.py --deepspeed zero3.json \
  --model_name_or_path Qwen/Qwen3-30B-A3B --max_length 4096 --per_device_train_batch_size 1 \
  --gradient_checkpointing true --bf16 true
