# a server of answers: caches come in 8,192 tokens at a time, prompts are captured in pieces
cat > options.yaml <<'EOF'
cache_transceiver_config:
  backend: UCX
  max_tokens_in_buffer: 8192
prefill_cuda_graph_backend: piecewise
prefill_capture_num_tokens: [128, 1024, 2048]
kv_cache_config:
  host_cache_size: 42949672960
disable_mm_encoder: true
EOF
trtllm-serve Qwen/Qwen3-30B-A3B --server_role generation --max_seq_len 16384 \
  --extra_llm_api_options options.yaml
