#!/bin/bash
#moeplan cluster=h100-8x2
# Six micro-batches go through each of two virtual stages in turn, the last four too.
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention \
    --num-query-groups 8 --ffn-hidden-size 14336 --swiglu --disable-bias-linear \
    --normalization RMSNorm --vocab-size 32000 --untie-embeddings-and-output-weights \
    --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 \
    --microbatch-group-size-per-virtual-pipeline-stage 6 --use-distributed-optimizer \
    --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16
