torchrun --nproc-per-node 8 --nnodes 2 pretrain_mamba.py --hybrid-override-pattern "M-M-M-M*-" --num-layers 52 --hidden-size 4096 \
 --num-attention-heads 32 --micro-batch-size 1 --seq-length 8192 --bf16 --vocab-size 131072
