# The file holds against the command line.
torchrun --nproc-per-node=8 --nnodes=2 pretrain_gpt.py --yaml-cfg sections.yaml \
    --tensor-model-parallel-size 4 --micro-batch-size 8
