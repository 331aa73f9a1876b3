#moeplan cluster=h200-8x1
cat <<'YAML' > options.yaml
kv_cache_config:
  max_attention_window: [0]
YAML
trtllm-serve openai/gpt-oss-120b --max_seq_len 16384 --extra_llm_api_options options.yaml
