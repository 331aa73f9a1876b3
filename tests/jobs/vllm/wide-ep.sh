#!/bin/bash
# Data-parallel attention over two nodes, experts over all of it.
#moeplan cluster=h200
MODEL="deepseek-ai/DeepSeek-R1-0528"
ARGS=(
  --data-parallel-size 16
  --data-parallel-size-local=8
  --enable-expert-parallel
  --eplb-config '{"num_redundant_experts": 32}'
  --no-enable-prefix-caching
  --gpu-memory-utilization 0.85
  --max-model-len 16384 --max-num-seqs 256
)
export VLLM_ALL2ALL_BACKEND=deepep_low_latency
[ "$NODE_RANK" = 0 ] || ARGS+=(--headless --data-parallel-start-rank 8)
vllm serve "$MODEL" "${ARGS[@]}" &
wait
