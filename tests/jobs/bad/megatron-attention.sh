#moeplan cluster=h100
torchrun --nproc-per-node 8 pretrain_gpt.py --multi-latent-attention \
 --group-query-attention --num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 --micro-batch-size 1 --seq-length 64
