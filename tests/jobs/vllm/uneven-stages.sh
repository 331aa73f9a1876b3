#!/bin/bash
# The last of two stages holds a draft's module: it has fewer layers.
#moeplan cluster=h200-8x2
export VLLM_PP_LAYER_PARTITION="48, 46"
vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --pipeline-parallel-size 2
