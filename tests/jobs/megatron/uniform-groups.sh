#!/bin/bash
# Mixtral 8x7B: two layers run again from one input, half of the optimizer in host memory
#moeplan cluster=h100-8x4
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
 --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \
 --vocab-size 32000 --seq-length 4096 --max-position-embeddings 32768 --position-embedding-type rope \
 --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall \
 --moe-expert-capacity-factor 1.25 --moe-pad-expert-input-to-capacity \
 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --expert-model-parallel-size 4 --sequence-parallel \
 --micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer --optimizer-cpu-offload --optimizer-offload-fraction 0.5 --overlap-cpu-optimizer-d2h-h2d \
 --use-precision-aware-optimizer --recompute-granularity full --recompute-method uniform --recompute-num-layers 2 --train-iters 100
