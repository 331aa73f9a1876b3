#moeplan cluster=h100
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 64 --bf16
