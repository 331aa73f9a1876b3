# Experts split instead of spread; settings under --config, the older and the newer names.
#moeplan cluster=h100-8x1
cat > serve.yaml <<'EOF'
moe_config: {backend: CUTLASS}
kv_cache_config: {free_gpu_memory_fraction: 0.9, enable_block_reuse: false}
enable_chunked_prefill: true
disable_overlap_scheduler: true
EOF
trtllm-serve openai/gpt-oss-120b --tensor_parallel_size 4 --moe_expert_parallel_size 1 --max_batch_size 32 \
  --max_seq_len 4096 --config serve.yaml
