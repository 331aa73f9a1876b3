vllm serve Qwen/Qwen3-30B-A3B \
  --tensor-parallel-size 2 \
  # --max-model-len 8192 \
  --gpu-memory-utilization 0.8
