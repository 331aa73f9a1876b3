#!/bin/bash
# The decode side of a disaggregated engine with DeepEP over two nodes.
#moeplan cluster=h200
export SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK=256
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --trust-remote-code \
  --tp 16 --dp 16 --enable-dp-attention --moe-a2a-backend deepep --nnodes 2 \
  --node-rank $RANK --dist-init-addr "$HEAD:5000" --disaggregation-mode decode \
  --max-running-requests 2048 --context-length 4096 --cuda-graph-max-bs 128 \
  --ep-num-redundant-experts 32 --mem-fraction-static 0.83
