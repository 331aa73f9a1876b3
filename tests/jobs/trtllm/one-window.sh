# One window for all layers.
cat <<'YAML' > options.yaml
kv_cache_config:
  max_attention_window: [4096]
YAML
trtllm-serve openai/gpt-oss-20b --backend pytorch --max_batch_size 128 --max_seq_len 32768 \
  --extra_llm_api_options options.yaml
