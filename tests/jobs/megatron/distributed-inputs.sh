#!/bin/bash
#moeplan cluster=h100-8x2
# Inputs of recomputed layers are shared out over tensor-parallel ranks, without
# sequence parallelism, which a model with experts would need.
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention \
    --num-query-groups 8 --ffn-hidden-size 14336 --swiglu --disable-bias-linear \
    --normalization RMSNorm --vocab-size 32000 --untie-embeddings-and-output-weights \
    --tensor-model-parallel-size 4 \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --distribute-saved-activations --use-distributed-optimizer \
    --seq-length 8192 --micro-batch-size 1 --global-batch-size 64 --bf16
