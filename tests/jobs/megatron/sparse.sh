# DeepSeek sparse attention without its kernels, whose indexer has a loss: both are said
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 2048 --num-attention-heads 16 \
 --multi-latent-attention --q-lora-rank 512 --kv-lora-rank 256 --qk-head-dim 64 --qk-pos-emb-head-dim 32 --v-head-dim 64 \
 --experimental-attention-variant dsa --dsa-indexer-n-heads 16 --dsa-indexer-head-dim 64 --dsa-indexer-topk 512 \
 --dsa-indexer-loss-coeff 0.001 --dsa-indexer-use-sparse-loss \
 --num-experts 16 --moe-router-topk 4 --moe-ffn-hidden-size 512 --moe-grouped-gemm --expert-model-parallel-size 8 \
 --swiglu --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 32000 --seq-length 4096 \
 --micro-batch-size 1 --global-batch-size 8 --bf16 --use-distributed-optimizer
