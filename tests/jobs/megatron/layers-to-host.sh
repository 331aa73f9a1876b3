#!/bin/bash
# Whole layers in host memory, places of their own for gathered units: a performance recipe's.
#moeplan cluster=h200-8x8
OFFLOAD="--cpu-offloading-num-layers 20 --cpu-offloading-weights --cpu-offloading-activations"
torchrun --nnodes=8 --nproc_per_node=8 pretrain_gpt.py \
    --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --group-query-attention \
    --num-query-groups 4 --kv-channels 128 --qk-layernorm --swiglu --disable-bias-linear \
    --normalization RMSNorm --vocab-size 151936 --untie-embeddings-and-output-weights \
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall --expert-model-parallel-size 8 \
    --seq-length 4096 --micro-batch-size 1 --global-batch-size 512 --bf16 \
    --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params \
    --num-distributed-optimizer-instances 2 --outer-dp-sharding-strategy optim \
    --fp8-format hybrid --fp8-recipe tensorwise --fp8-param-gather --keep-fp8-transpose-cache \
    --fsdp-double-buffer $OFFLOAD
