# Megatron-FSDP, the precision-aware optimizer and a flag that is turned off.
#moeplan cluster=b200-8x8
python -m torch.distributed.run --nnodes 8 --nproc-per-node gpu ./pretrain_gpt.py \
    --num-layers 96 --hidden-size 8192 --num-attention-heads 64 --group-query-attention \
    --num-query-groups 8 --swiglu --disable-bias-linear --normalization=RMSNorm \
    --vocab-size=102400 --untie-embeddings-and-output-weights \
    --num-experts 224 --moe-router-topk 8 --moe-ffn-hidden-size 1920 --moe-grouped-gemm \
    --moe-shared-expert-intermediate-size 1920 --seq-length 4096 --micro-batch-size 1 \
    --bf16 --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params \
    --use-precision-aware-optimizer --main-grads-dtype bf16 --exp-avg-dtype bf16 \
    --exp-avg-sq-dtype bf16 --expert-model-parallel-size 32 --no-bias-swiglu-fusion \
    --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep \
    --moe-router-force-load-balancing --cross-entropy-loss-fusion \
    --cross-entropy-fusion-impl te --use-nccl-ub
