vllm serve openai/gpt-oss-120b --tensor-parallel-size 2 --max-model-len 32768 \
  --disable-hybrid-kv-cache-manager
