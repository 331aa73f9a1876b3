# The most that the pool holds, and graphs of given sizes.
cat <<'YAML' > options.yaml
kv_cache_config:
  max_tokens: 100000
cuda_graph_config:
  max_batch_size: 64
YAML
trtllm-serve openai/gpt-oss-20b --backend pytorch --max_batch_size 128 --max_seq_len 8192 \
  --extra_llm_api_options options.yaml
