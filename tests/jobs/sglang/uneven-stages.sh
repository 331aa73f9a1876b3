#!/bin/bash
#moeplan cluster=h200-8x2
SGLANG_PP_LAYER_PARTITION=31,30 python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 \
  --tp-size 8 --pp-size 2 --nnodes 2
