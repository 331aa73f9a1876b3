#moeplan cluster=b200-8x1
# Prompts wait up to 60 steps until each of the eight replicas has one, and are cut to what a
# step's answers leave.
cat > balance.yaml <<'EOF'
enable_attention_dp: true
enable_chunked_prefill: true
attention_dp_config:
  enable_balance: true
  timeout_iters: 60
  batching_wait_iters: 0
cuda_graph_config:
  enable_padding: true
  batch_sizes: [1, 2, 4, 8, 16, 32, 64]
kv_cache_config:
  dtype: fp8
EOF
trtllm-serve nvidia/DeepSeek-R1-FP4 --tp_size 8 --ep_size 8 --max_batch_size 64 \
  --max_num_tokens 8448 --max_seq_len 9416 --extra_llm_api_options balance.yaml
