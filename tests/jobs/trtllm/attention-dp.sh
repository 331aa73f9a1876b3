#moeplan cluster=b200
# Attention data parallelism over eight ranks, options in a file.
cat <<'YAML' > options.yaml
enable_attention_dp: true
moe_config:
  backend: TRTLLM
kv_cache_config:
  free_gpu_memory_fraction: 0.85
  dtype: fp8
  tokens_per_block: 32
YAML
trtllm-serve deepseek-ai/DeepSeek-V3 --backend pytorch --tp_size 8 --ep_size 8 \
  --max_batch_size 256 --max_num_tokens 4096 --max_seq_len 8192 \
  --extra_llm_api_options options.yaml
