#!/bin/bash
# Paths of the script's own: its folder, names of files in them.
HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)
CONFIG=$HERE/../files/sizes-mixtral.sh
SIZE=$(basename "$CONFIG" .sh)
CHUNKS=2
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --use-mcore-models --mock-data \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 --seq-length 4096 --swiglu --bf16 \
  --max-position-embeddings 4096 --num-experts 8 --moe-router-topk 2 \
  --untie-embeddings-and-output-weights --position-embedding-type rope \
  --vocab-size 32000 --tokenizer-type NullTokenizer --micro-batch-size 1 \
  --global-batch-size 64 --use-distributed-optimizer --expert-model-parallel-size 8 \
  --pipeline-model-parallel-size 2 --save "$(dirname "$HERE")/$SIZE"
