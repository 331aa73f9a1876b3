docker run --gpus all --rm -it --ipc=host -p 8000:8000 -v ./models:/models vllm/vllm-openai:v0.11.0 \
  --model openai/gpt-oss-120b -tp 2 --max-num-batched-tokens=8192 --async-scheduling --no-enable-prefix-caching --enable-chunked-prefill
