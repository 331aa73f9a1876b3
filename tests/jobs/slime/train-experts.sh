#!/bin/bash
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint /models/Qwen3-30B-A3B --expert-model-parallel-size 8 --only-train-params-name-list experts --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 --global-batch-size 256 --use-dynamic-batch-size --max-tokens-per-gpu 8192
