torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
    --num-attention-heads 32 --ffn-hidden-size 14336 --vocab-size 32000 --seq-length 4096 \
    --micro-batch-size 1 --num-experts 8 --pipeline-model-parallel-size 4294967296 \
    --num-layers-per-virtual-pipeline-stage 4294967296
