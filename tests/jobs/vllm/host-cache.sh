# A second cache in host memory, over all ranks.
vllm serve Qwen/Qwen3-235B-A22B-Thinking-2507-FP8 --tensor-parallel-size 4 \
  --kv-offloading-size 512 --kv-offloading-backend native --max-model-len 131072
