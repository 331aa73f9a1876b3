# Inputs of layers that run again wait in host memory.
#moeplan cluster=h100
torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer \
  data.train_files=train.parquet data.train_batch_size=64 data.micro_batch_size_per_gpu=1 \
  data.use_dynamic_bsz=False data.max_length=4096 model.path=Qwen/Qwen3-30B-A3B \
  model.enable_gradient_checkpointing=True model.enable_activation_offload=True engine=fsdp
