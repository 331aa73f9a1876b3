# Eight replicas of attention, whose tokens come together before experts that all ranks share.
export MODEL=deepseek-ai/DeepSeek-V3
python -m sglang.launch_server --model $MODEL --tp 8 --dp 8 --enable-dp-attention \
  --trust-remote-code --mem-fraction-static=0.85 --context-length 16384 \
  --max-running-requests 512 --kv-cache-dtype fp8_e4m3
