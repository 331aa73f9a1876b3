#moeplan cluster=h100
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 2 \
 --num-layers-per-virtual-pipeline-stage 1 --num-virtual-stages-per-pipeline-rank 2 --num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 --micro-batch-size 1 --seq-length 64
