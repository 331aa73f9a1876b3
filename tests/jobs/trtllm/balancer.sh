# slots by a file of their own, and a variable that is not modelled
cat > eplb.yaml <<'EOF'
num_slots: 288
layer_updates_per_iter: 0
EOF
cat > options.yaml <<'EOF'
enable_attention_dp: true
moe_config:
  backend: CUTLASS
  load_balancer: eplb.yaml
EOF
TRTLLM_FORCE_COMM_METHOD=NVLINK_ONE_SIDED trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 8 \
  --max_seq_len 8192 --extra_llm_api_options options.yaml
