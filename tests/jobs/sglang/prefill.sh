#moeplan cluster=h200
# The prefill side.
python -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 \
  --disaggregation-mode prefill --chunked-prefill-size 16384 --disable-radix-cache
