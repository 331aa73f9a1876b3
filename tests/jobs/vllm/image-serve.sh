# The image's entry is `vllm serve`: the model follows by its name.
docker run --gpus all -p 8000:8000 --ipc=host vllm/vllm-openai:v0.19.0 Qwen/Qwen3-30B-A3B-FP8 \
  --tensor-parallel-size 8 --enable-expert-parallel --moe-backend deep_gemm
