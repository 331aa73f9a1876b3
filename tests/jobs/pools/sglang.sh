#!/bin/bash
# Two servers that prefill on a node each, and one that decodes on two nodes, behind a router.
#moeplan cluster=h200
MODEL=deepseek-ai/DeepSeek-V3
for i in 1 2; do echo "node $i"; done
python3 -m sglang.launch_server --model-path $MODEL --tp 8 --port 30000 \
  --disaggregation-mode prefill --chunked-prefill-size 16384 --mem-fraction-static 0.85 &
python3 -m sglang.launch_server --model-path $MODEL --tp 8 --port 30010 \
  --disaggregation-mode prefill --chunked-prefill-size 16384 --mem-fraction-static 0.85 &
python3 -m sglang.launch_server --model-path $MODEL --tp 16 --dp 16 --enable-dp-attention \
  --moe-a2a-backend deepep --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.3:5000 \
  --disaggregation-mode decode --max-running-requests 2048 --context-length 4096 \
  --cuda-graph-max-bs 128 --mem-fraction-static 0.83 &
python3 -m sglang.launch_server --model-path $MODEL --tp 16 --dp 16 --enable-dp-attention \
  --moe-a2a-backend deepep --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.3:5000 \
  --disaggregation-mode decode --max-running-requests 2048 --context-length 4096 \
  --cuda-graph-max-bs 128 --mem-fraction-static 0.83 &
python3 -m sglang_router.launch_router --pd-disaggregation \
  --prefill http://10.0.0.1:30000 --prefill http://10.0.0.2:30010 --decode http://10.0.0.3:30001
