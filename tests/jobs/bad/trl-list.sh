cat > accelerate.yaml <<'EOF'
distributed_type: FSDP
num_processes: 8
EOF
cat > sft.yaml <<'EOF'
model_name_or_path: Qwen/Qwen3-30B-A3B
per_device_train_batch_size: [1, 2]
EOF
trl sft --config sft.yaml --accelerate_config accelerate.yaml
