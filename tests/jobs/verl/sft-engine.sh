# Supervised training by verl's Megatron engine: micro-batches are packed by tokens.
#moeplan cluster=h100
BACKEND=megatron
ENGINE_CONFIG="engine=${BACKEND} optim=${BACKEND} engine.tensor_model_parallel_size=2
  engine.pipeline_model_parallel_size=2 engine.expert_model_parallel_size=4
  engine.expert_tensor_parallel_size=1 engine.optimizer_offload=True
  +engine.override_transformer_config.recompute_granularity=full
  +engine.override_transformer_config.recompute_method=uniform
  +engine.override_transformer_config.recompute_num_layers=1
  +optim.override_optimizer_config.use_precision_aware_optimizer=True"
torchrun --nnodes=2 --nproc_per_node=8 -m verl.trainer.sft_trainer \
  data.train_files=train.parquet data.train_batch_size=96 data.max_token_len_per_gpu=4096 \
  data.max_length=2048 data.pad_mode=no_padding model.path=Qwen/Qwen3-30B-A3B \
  $ENGINE_CONFIG trainer.total_epochs=2 trainer.logger=['console']
