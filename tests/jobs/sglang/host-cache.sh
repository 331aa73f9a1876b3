#moeplan cluster=h200-8x1
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 \
  --enable-hierarchical-cache --hicache-size 120 --hicache-write-policy write_through \
  --cpu-offload-gb 4 --context-length 32768 \
  --json-model-override-args '{"max_position_embeddings": 65536}'
