#!/bin/bash
#moeplan cluster=h100
# Chunks of four layers, embedding and loss counted; a recipe of fp8 keeps a master of its own.
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py --num-layers 94 --hidden-size 4096 \
  --ffn-hidden-size 12288 --num-attention-heads 64 --group-query-attention --num-query-groups 4 \
  --kv-channels 128 --qk-layernorm --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536 \
  --moe-grouped-gemm --moe-token-dispatcher-type flex --moe-enable-deepep --swiglu \
  --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \
  --seq-length 4096 --max-position-embeddings 40960 --micro-batch-size 1 --global-batch-size 2048 \
  --vocab-size 151936 --tensor-model-parallel-size 2 --sequence-parallel \
  --pipeline-model-parallel-size 8 --num-layers-per-virtual-pipeline-stage 4 \
  --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split \
  --expert-model-parallel-size 16 --expert-tensor-parallel-size 1 --use-distributed-optimizer \
  --bf16 --fp8-format e4m3 --fp8-recipe blockwise --use-precision-aware-optimizer
