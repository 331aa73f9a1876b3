# Attention data parallelism before experts that are split over its ranks (moe_tp_size 4).
cat <<'YAML' > options.yaml
enable_attention_dp: true
kv_cache_config:
  free_gpu_memory_fraction: 0.8
YAML
trtllm-serve Qwen/Qwen3-235B-A22B --tp_size 4 --max_batch_size 64 --max_seq_len 8192 \
  --extra_llm_api_options options.yaml
