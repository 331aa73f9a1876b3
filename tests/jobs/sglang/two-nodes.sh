#!/bin/bash
# The second node first: what starts there belongs to the launch below.
ssh node1 "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --dist-init-addr node0:20000 --nnodes 2 --node-rank 1 --trust-remote-code" &
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --dist-init-addr node0:20000 --nnodes 2 --node-rank 0 --trust-remote-code
