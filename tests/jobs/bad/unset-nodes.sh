torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 pretrain_gpt.py --bf16
