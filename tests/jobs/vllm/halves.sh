#moeplan cluster=h200
# Decode steps of two halves, from fewer tokens on than by default.
vllm serve deepseek-ai/DeepSeek-V3 --data-parallel-size 16 --data-parallel-size-local 8 \
  --enable-expert-parallel --all2all-backend deepep_low_latency --enable-dbo \
  --dbo-decode-token-threshold 16 --dbo-prefill-token-threshold 1024 --max-model-len 8192
