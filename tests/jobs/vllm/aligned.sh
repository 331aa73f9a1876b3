vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --max-model-len 65536 \
  --enable-prefix-caching --mamba-ssm-cache-dtype float32 --mamba-cache-dtype auto
