# The same engine by FSDP2, in 16 bits, without packing, over sequence parallel ranks.
#moeplan cluster=h200
torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer \
  engine=fsdp engine.strategy=fsdp2 engine.model_dtype=bf16 engine.fsdp_size=4 \
  engine.ulysses_sequence_parallel_size=2 engine.reshard_after_forward=False \
  data.use_dynamic_bsz=False data.micro_batch_size_per_gpu=2 data.max_length=8192 \
  model.path=Qwen/Qwen3-30B-A3B model.lora_rank=16 model.target_modules=[q_proj,v_proj]
