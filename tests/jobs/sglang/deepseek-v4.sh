#!/bin/bash
# github.com/SemiAnalysisAI/InferenceX benchmarks/single_node/fixed_seq_len/
# dsv4_fp8_h200_sglang.sh, issue 2128: 103 to 104 GB of weights a device since
sglang serve --model-path deepseek-ai/DeepSeek-V4-Pro --trust-remote-code --tp 8 \
  --moe-runner-backend marlin --chunked-prefill-size 4096 --disable-radix-cache \
  --mem-fraction-static 0.88
