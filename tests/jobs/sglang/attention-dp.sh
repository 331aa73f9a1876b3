# 0.5.23: --attn-dp-size in place of --dp-size with --enable-dp-attention
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 --attn-dp-size 8 \
  --moe-dense-tp-size 1 --moe-a2a-backend deepep --moe-runner-backend humming --kv-cache-dtype bf16 \
  --disable-decode-cuda-graph
