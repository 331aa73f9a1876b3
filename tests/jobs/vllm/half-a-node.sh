#!/bin/sh
# four of a node's eight devices, two pipeline stages
export CUDA_VISIBLE_DEVICES=0,1,2,3
vllm serve deepseek-ai/DeepSeek-V3.1-Terminus -tp 2 --pipeline-parallel-size=2 --max_num_seqs=128
