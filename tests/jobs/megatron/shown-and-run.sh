WORLD_SIZE=4 # nodes, as Pai-Megatron-Patch names them
options=" \
    --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 4 \
    --num-layers-per-virtual-pipeline-stage 2 \
    --expert-model-parallel-size=4 \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --num-query-groups 8 --group-query-attention \
    --ffn-hidden-size 14336 --num-experts 8 --moe-router-topk 2 \
    --moe-grouped-gemm --moe-token-dispatcher-type alltoall \
    --moe-expert-capacity-factor 1.5 --moe-pad-expert-input-to-capacity \
    --seq-length 8192 --max-position-embeddings 8192 \
    --micro-batch-size 1 --global-batch-size 128 \
    --swiglu --normalization RMSNorm --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --fp8-format hybrid --fp8-recipe delayed --bf16 \
    --use-distributed-optimizer --optimizer-cpu-offload --optimizer-offload-fraction 0.5 \
    --use-precision-aware-optimizer \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --no-create-attention-mask-in-dataloader --cross-entropy-loss-fusion \
    --vocab-size 32000 --no-load-optim --no-load-rng"
run_cmd="torchrun --nproc_per_node=8 --nnodes=${WORLD_SIZE} pretrain_gpt.py ${options}"
echo $run_cmd
eval $run_cmd
