#!/bin/bash
# What fused experts and the low-latency dispatch take at once, where a release asks the environment.
#moeplan cluster=h200
#moeplan stack.version=0.11.0
export VLLM_FUSED_MOE_CHUNK_SIZE=8192
export VLLM_MOE_DP_CHUNK_SIZE=384
vllm serve deepseek-ai/DeepSeek-R1 --data-parallel-size 16 --enable-expert-parallel \
  --all2all-backend deepep_low_latency
