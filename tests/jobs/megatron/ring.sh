#moeplan cluster=h100
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 48 --hidden-size 2048 \
  --ffn-hidden-size 6144 --num-attention-heads 32 --group-query-attention --num-query-groups 4 \
  --kv-channels 128 --num-experts 128 --moe-ffn-hidden-size 768 --moe-router-topk 8 --swiglu \
  --normalization RMSNorm --untie-embeddings-and-output-weights --vocab-size 151936 \
  --seq-length 32768 --max-position-embeddings 32768 --micro-batch-size 1 --global-batch-size 64 \
  --bf16 --expert-model-parallel-size 8 --context-parallel-size 4 --cp-comm-type a2a+p2p \
  --hierarchical-context-parallel-sizes 2 2 --moe-token-dispatcher-type alltoall \
  --moe-grouped-gemm --use-distributed-optimizer
