# DeepSeek-V4-Flash as Megatron-Bridge's recipe lays it out on 64 GB200: layers of a window and
# of compressed entries, four copies of the residual, tables that route the first layers.
#moeplan cluster=gb200-4x16
torchrun --nnodes 16 --nproc-per-node 4 pretrain_gpt.py --num-layers 43 --hidden-size 4096 \
  --num-attention-heads 64 --swiglu --disable-bias-linear --normalization RMSNorm \
  --untie-embeddings-and-output-weights --vocab-size 129280 --multi-latent-attention \
  --experimental-attention-variant dsv4_hybrid --csa-compress-ratios "[0,0,4]+[128,4]*20" \
  --q-lora-rank 1024 --v-head-dim 512 --qk-pos-emb-head-dim 64 --dsa-indexer-topk 512 \
  --enable-hyper-connections --use-fused-mhc --dsa-kernel-backend cudnn \
  --moe-n-hash-layers 3 --num-experts 256 --moe-router-topk 6 --moe-ffn-hidden-size 2048 \
  --moe-shared-expert-intermediate-size 2048 --moe-router-score-function sqrtsoftplus \
  --moe-router-enable-expert-bias --moe-grouped-gemm --bf16 --use-distributed-optimizer \
  --micro-batch-size 1 --global-batch-size 256 --seq-length 4096 \
  --pipeline-model-parallel-size 8 --expert-model-parallel-size 8 \
  --pipeline-model-parallel-layout "Et*6|t*6|t*6|t*5|t*5|t*5|t*5|t*5,L" \
  --moe-token-dispatcher-type alltoall --recompute-granularity selective \
  --recompute-modules moe_act mhc mla_up_proj
