#!/bin/bash
#moeplan cluster=h100
# The engine has devices of its own; adapters' base is the reference.
# swift rollout --model Qwen/Qwen3-30B-A3B
CUDA_VISIBLE_DEVICES=1,2,3,4,5,6,7 NPROC_PER_NODE=7 swift rlhf --rlhf_type grpo \
    --model Qwen/Qwen3-30B-A3B --use_vllm true --vllm_server_host 127.0.0.1 \
    --vllm_server_port 8000 --max_length 3072 --deepspeed zero2
