# Windows as the model's layers have them.
cat <<'YAML' > options.yaml
kv_cache_config:
  max_attention_window: [128, 32768]
YAML
trtllm-serve openai/gpt-oss-20b --backend pytorch --max_batch_size 128 --max_seq_len 32768 \
  --extra_llm_api_options options.yaml
