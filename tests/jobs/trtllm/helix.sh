# two ranks of tp, each pair of which shares a sequence's cache out: four in networks
cat > options.yaml <<EOF
context_parallel_size: 2
cp_config:
  cp_type: HELIX
  tokens_per_block: 32
kv_cache_config: {free_gpu_memory_fraction: 0.8, dtype: fp8}
EOF
trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 4 --ep_size 8 --max_batch_size 16 \
    --max_seq_len 131072 --extra_llm_api_options options.yaml
