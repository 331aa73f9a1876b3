# Compiled, without graphs.
vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 \
  --compilation-config '{"cudagraph_mode": "NONE"}'
