#!/bin/bash
python3 -m sglang.launch_server --model-path openai/gpt-oss-20b --swa-full-tokens-ratio 0.25 \
  --disable-radix-cache
