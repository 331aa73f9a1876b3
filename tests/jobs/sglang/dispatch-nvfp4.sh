#!/bin/bash
# Rows travel in 4 bits; one size of a group is no group.
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 16 \
  --enable-dp-attention --moe-a2a-backend deepep --deepep-mode low_latency --nnodes 2 \
  --deepep-dispatcher-output-dtype nvfp4 --attn-cp-size 1 --moe-dp-size 1
