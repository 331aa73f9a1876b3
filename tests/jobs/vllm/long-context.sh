VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve Qwen/Qwen3-30B-A3B --max-model-len 65536 --kv-cache-dtype fp8_e5m2
