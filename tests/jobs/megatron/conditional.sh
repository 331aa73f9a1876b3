# Qwen3-30B-A3B continued pretraining
export NVTE_FUSED_ATTN=1
TP=1; PP=1; EP=8; CP=2
DISTRIBUTED="--nproc_per_node=gpu --nnodes=${PET_NNODES:-2} --rdzv_backend c10d --rdzv_endpoint ${HOST:-node0}:29500"
OPTS="--num-layers 48 --hidden-size 2048 --num-attention-heads 32 --group-query-attention --num-query-groups 4 \
 --kv-channels 128 --ffn-hidden-size 6144 --qk-layernorm --swiglu --normalization RMSNorm --disable-bias-linear \
 --untie-embeddings-and-output-weights --padded-vocab-size 151936 --max-position-embeddings 40960 \
 --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 --moe-grouped-gemm --moe-token-dispatcher-type=alltoall \
 --moe-router-load-balancing-type global_aux_loss --rotary-base 1000000 --rotary-percent 1.0"
[ "$DEBUG" = 1 ] && OPTS="$OPTS --log-memory-to-tensorboard"
python -m torch.distributed.run $DISTRIBUTED pretrain_gpt.py $OPTS \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP \
  --context-parallel-size $CP --cp-comm-type p2p --micro-batch-size 1 --global-batch-size $((16 * PP)) \
  --seq-length 32768 --bf16 --use-distributed-optimizer --num-distributed-optimizer-instances 2 \
  --recompute-granularity full --recompute-method block --recompute-num-layers 10 \
  --moe-router-force-load-balancing \
  --micro-batch-size 2 \
  --optimizer-cpu-offload --optimizer-offload-fraction 0.5 --use-torch-optimizer-for-cpu-offload \
  --moe-permute-fusion --ddp-bucket-size 40000000 2>&1 | tee -a train.log
