# Nemotron-3 Super's mixers and experts: a pattern, and experts on a latent width
torchrun --nproc-per-node 8 --nnodes 4 pretrain_mamba.py \
 --hybrid-layer-pattern "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME" \
 --num-layers 88 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 2 --kv-channels 128 \
 --mamba-num-heads 128 --mamba-head-dim 64 --mamba-num-groups 8 --mamba-state-dim 128 \
 --num-experts 512 --moe-router-topk 22 --moe-ffn-hidden-size 2688 --moe-latent-size 1024 \
 --moe-shared-expert-intermediate-size 5376 --moe-router-score-function sigmoid --squared-relu \
 --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 131072 --micro-batch-size 1 --seq-length 8192 \
 --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 8 --bf16 --use-distributed-optimizer
