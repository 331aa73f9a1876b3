#!/bin/bash
# Ranks of attention over two nodes: the second has a launch of its own, which the first stands
# for. What a chart leaves empty is as if it were not there.
HEAD=10.0.0.1
export VLLM_RANDOMIZE_DP_DUMMY_INPUTS=1
# node 0
vllm serve deepseek-ai/DeepSeek-V3 --data-parallel-size 16 --data-parallel-size-local 8 \
  --data-parallel-address $HEAD --enable-expert-parallel --max-num-seqs 256 \
  --gpu-memory-utilization 0.85 --kv-cache-memory-bytes=${KV_CACHE_MEMORY_BYTES-}
# node 1
vllm serve deepseek-ai/DeepSeek-V3 --headless --data-parallel-start-rank 8 \
  --data-parallel-size 16 --data-parallel-size-local 8 --data-parallel-address $HEAD \
  --enable-expert-parallel --max-num-seqs 256 --gpu-memory-utilization 0.85
