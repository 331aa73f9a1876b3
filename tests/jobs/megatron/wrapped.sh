#!/bin/bash
# A batch job of one line; its size stands before it.
MODEL="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 --num-experts 8 --moe-router-topk 2 \
  --moe-grouped-gemm --swiglu --disable-bias-linear --normalization RMSNorm \
  --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 32000"
sbatch --nodes=2 --gpus-per-node=8 --wrap="srun torchrun --nnodes 2 --nproc_per_node 8 \
  pretrain_gpt.py $MODEL --seq-length 4096 --max-position-embeddings 4096 --bf16 \
  --expert-model-parallel-size 8 --pipeline-model-parallel-size 2 --micro-batch-size 1 \
  --global-batch-size 128 --use-distributed-optimizer --moe-token-dispatcher-type alltoall"
