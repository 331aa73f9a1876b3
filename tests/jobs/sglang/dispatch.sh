#!/bin/bash
# Rows travel to 8-bit experts in 16 bits, as the environment of older releases says; what else
# matters to memory and has no key here is said.
export SGLANG_DEEPEP_BF16_DISPATCH=1
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 16 \
  --enable-dp-attention --moe-a2a-backend deepep --deepep-mode normal --nnodes 2 \
  --moe-dp-size 2 --offload-group-size 4
