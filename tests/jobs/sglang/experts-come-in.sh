#!/bin/bash
#moeplan cluster=h200-8x1
# Experts of two of four layers wait in host memory.
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 \
  --offload-group-size 4 --offload-num-in-group 2 --offload-prefetch-step 1
