# In a container, degrees from variables, the model's own longest sequence.
TP=4
docker run --rm --gpus all --ipc host -p 8000:8000 nvcr.io/nvidia/tensorrt-llm/release:latest \
  trtllm-serve "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8" --backend pytorch \
  --tp_size "$TP" --ep_size "${EP:-$TP}" --trust_remote_code --kv_cache_dtype fp8
