#!/usr/bin/env bash
#moeplan cluster=h100
# Drop and pad with full recomputation; the world comes from the environment.
export WORLD_SIZE=16
SIZE="--num-layers 48 --hidden-size 2048 --num-attention-heads 32 --kv-channels 128"
SIZE="$SIZE --group-query-attention --num-query-groups 4 --qk-layernorm"
FFN=$((2048 * 3))
OPTIONS="--swiglu --disable-bias-linear --normalization RMSNorm --vocab-size 151936 \
--untie-embeddings-and-output-weights --ffn-hidden-size ${FFN}"
if [ -n "${DEBUG:-}" ]; then
    EXTRA="--log-interval 1"
fi
python pretrain_gpt.py $SIZE $OPTIONS --bf16 --seq-length 4096 \
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-grouped-gemm \
    --moe-router-pre-softmax \
    --expert-model-parallel-size=8 --expert-model-parallel-size=16 --micro-batch-size 1 \
    --moe-token-dispatcher-type alltoall \
    --moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity --fp8-format hybrid \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 $EXTRA
