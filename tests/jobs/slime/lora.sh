#!/bin/bash
#moeplan cluster=h100
ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
   --hf-checkpoint /models/Qwen3-30B-A3B --use-lora --lora-target-preset moe_language_all \
   --lora-rank 32 --lora-alpha 64 --rollout-batch-size 32 --n-samples-per-prompt 8 \
   --rollout-max-response-len 8192 --global-batch-size 256 --use-dynamic-batch-size \
   --max-tokens-per-gpu 20480 --tensor-model-parallel-size 4 --sequence-parallel \
   --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --recompute-granularity full \
   --recompute-method uniform --recompute-num-layers 1 --sglang-mem-fraction-static 0.7
