#moeplan cluster=h100
cat > ray.yaml <<'EOF'
rlhf_type: grpo
model: Qwen/Qwen3-30B-A3B
max_length: 2048
train: {gpus: 4, tensor_model_parallel_size: 2}
rollout: {gpus: 4, vllm_tensor_parallel_size: 2}
EOF
megatron rlhf --use_ray --config ray.yaml
