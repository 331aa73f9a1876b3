#moeplan cluster=h100
torchrun --nproc_per_node=8 -m verl.trainer.sft_trainer engine=veomni \
  model.path=Qwen/Qwen3-30B-A3B
