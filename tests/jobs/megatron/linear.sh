torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 48 --hidden-size 2048 --num-attention-heads 16 --group-query-attention \
 --num-query-groups 2 --kv-channels 256 --ffn-hidden-size 5120 --swiglu --normalization RMSNorm --apply-layernorm-1p \
 --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 151936 \
 --linear-attention-type gated_delta_net --linear-attention-freq 4 --linear-conv-kernel-dim 4 --linear-key-head-dim 128 \
 --linear-value-head-dim 128 --linear-num-key-heads 16 --linear-num-value-heads 32 --attention-output-gate --qk-layernorm \
 --num-experts 512 --moe-router-topk 10 --moe-ffn-hidden-size 512 --moe-shared-expert-intermediate-size 512 --moe-shared-expert-gate \
 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --expert-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 64 \
 --seq-length 4096 --bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --moe-router-dtype fp32
