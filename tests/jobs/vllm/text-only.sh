#moeplan cluster=h100-8x1
vllm serve Qwen/Qwen3-VL-30B-A3B-Instruct -tp 8 --max-model-len 32768 \
  --limit-mm-per-prompt '{"image": 0, "video": 0}'
