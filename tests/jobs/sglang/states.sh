#!/bin/bash
# A hybrid: states and keys share the pool
python3 -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 \
  --context-length 65536 --mamba-full-memory-ratio 0.5 --mamba-ssm-dtype bfloat16 \
  --mamba-scheduler-strategy extra_buffer
