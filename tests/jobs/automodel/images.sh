#moeplan cluster=h100
torchrun --nproc-per-node=8 examples/vlm_finetune/finetune.py -c stages.yaml
