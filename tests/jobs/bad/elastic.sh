torchrun --nnodes 1:4 --nproc-per-node 8 pretrain_gpt.py --bf16
