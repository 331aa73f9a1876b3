docker run --gpus all vllm/vllm-openai:v0.33.0 --model Qwen/Qwen3-Next-80B-A3B-Instruct \
  --tensor-parallel-size 4 --no-enable-prefix-caching
