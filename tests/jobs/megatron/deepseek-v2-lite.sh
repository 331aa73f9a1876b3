# DeepSeek-V2-Lite with an uneven pipeline, started by Slurm without torchrun.
#moeplan cluster=h100
srun -N2 --ntasks-per-node=8 python pretrain_gpt.py --num-layers 27 --hidden-size 2048 \
  --num-attention-heads 16 --ffn-hidden-size 10944 --swiglu --disable-bias-linear \
  --normalization RMSNorm --untie-embeddings-and-output-weights --vocab-size 102400 \
  --multi-latent-attention --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 \
  --v-head-dim 128 --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 \
  --moe-shared-expert-intermediate-size 2816 --moe-layer-freq "[0]*1+[1]*26" \
  --moe-router-pre-softmax --moe-grouped-gemm --moe-aux-loss-coeff 1e-3 \
  --bf16 --micro-batch-size 1 --seq-length 4096 \
  --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et*13|t*14,L" \
  --expert-model-parallel-size 8 --moe-token-dispatcher-type flex \
  --recompute-granularity selective --recompute-modules moe_act layernorm \
  --no-create-attention-mask-in-dataloader --cuda-graph-impl local --async-save
