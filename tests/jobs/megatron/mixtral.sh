#!/bin/bash
#SBATCH --job-name=mixtral
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
# Mixtral 8x7B, arguments in arrays as Megatron-LM's own examples have them.
#moeplan cluster=h100
set -euo pipefail
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-4}
TP=${TP:-2}
CHECKPOINT_PATH=$1

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --node_rank ${SLURM_NODEID:-0}
    --master_addr $(scontrol show hostnames | head -n1)
)

MODEL_ARGS=(
    --use-mcore-models
    --disable-bias-linear
    --seq-length 4096
    --max-position-embeddings 32768
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --swiglu
    --untie-embeddings-and-output-weights
    --group-query-attention
    --num-query-groups 8
    --normalization RMSNorm
    --vocab-size 32000
)

MOE=(--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm
     --moe-token-dispatcher-type alltoall --expert-model-parallel-size 4)
MOE+=(--expert-tensor-parallel-size=2)   # as tp: what Megatron takes without the flag

torchrun "${DISTRIBUTED_ARGS[@]}" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${MOE[@]}" --bf16 --sequence-parallel \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size=4 \
    --num-layers-per-virtual-pipeline-stage 4 \
    --use-distributed-optimizer --overlap-grad-reduce \
    --micro-batch-size 1 --global-batch-size 256 \
    --lr 1e-4 --min-lr 1.0e-5 --train-iters 500000 \
    --save "$CHECKPOINT_PATH" 2>&1 | tee log.txt
