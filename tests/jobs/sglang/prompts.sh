# Prompts shorter than a chunk: eight of 4,096 in a step of 524,288 / 16 tokens
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2 \
  --node-rank 0 --dist-init-addr h0:5000 --dp-size 16 --enable-dp-attention \
  --moe-a2a-backend deepep --deepep-mode normal --disaggregation-mode prefill \
  --chunked-prefill-size 524288 --context-length 4096 --moe-dense-tp-size 1 --disable-cuda-graph
