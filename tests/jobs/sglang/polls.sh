#!/bin/bash
# Requests are looked for every 30 steps; the stream of an answer holds 30 tokens at a time.
python3 -m sglang.launch_server --model-path openai/gpt-oss-120b --tp-size 4 \
  --max-running-requests 64 --scheduler-recv-interval 30 --stream-interval 30
