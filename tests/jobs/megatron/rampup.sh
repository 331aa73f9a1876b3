#!/bin/bash
#moeplan cluster=h100
# The batch grows from 256 by 256 to 1024 over the first samples; buckets of 10^8 elements.
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 16 --hidden-size 2048 \
  --ffn-hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \
  --num-experts 64 --moe-router-topk 8 --moe-ffn-hidden-size 1024 --swiglu --bf16 \
  --untie-embeddings-and-output-weights --vocab-size 50304 --position-embedding-type rope \
  --expert-model-parallel-size 8 --moe-token-dispatcher-type alltoall --use-distributed-optimizer \
  --micro-batch-size 2 --global-batch-size 1024 --rampup-batch-size 256 256 20000000 \
  --ddp-bucket-size 100000000
