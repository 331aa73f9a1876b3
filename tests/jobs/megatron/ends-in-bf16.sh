#!/bin/bash
# The last four layers stay in bf16 where the others multiply in mxfp8.
torchrun --nnodes=8 --nproc_per_node=8 pretrain_gpt.py \
    --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --group-query-attention \
    --num-query-groups 4 --kv-channels 128 --qk-layernorm --swiglu --disable-bias-linear \
    --normalization RMSNorm --vocab-size 151936 --untie-embeddings-and-output-weights \
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall --expert-model-parallel-size 8 \
    --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --bf16 \
    --use-distributed-optimizer --fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather \
    --first-last-layers-bf16 --num-layers-at-start-in-bf16 0 --num-layers-at-end-in-bf16 4
