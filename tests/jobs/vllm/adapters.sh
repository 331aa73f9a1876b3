# Adapters beside the weights, part of which stays in host memory.
#moeplan cluster=h100
vllm serve Qwen/Qwen3-30B-A3B --max-model-len 8192 \
  --enable-lora --max-loras 4 --max-lora-rank 32 --max-cpu-loras 16 \
  --cpu-offload-gb 12.5 \
  --compilation-config '{"cudagraph_mode": "PIECEWISE", "cudagraph_capture_sizes": [1, 2, 64]}'
