#!/bin/bash
# Two replicas of two ranks each; without --enable-expert-parallel every expert lies over all four.
vllm serve openai/gpt-oss-120b -tp 2 -dp 2 \
    --max-model-len 32768 --max-num-seqs 256 --gpu-memory-utilization=0.92
