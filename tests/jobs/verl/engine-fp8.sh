# A trainer in 16 bits beside an engine whose linear layers are quantised as they come.
#moeplan cluster=h100
python3 -m verl.trainer.main_ppo data.train_batch_size=512 data.max_prompt_length=1024 \
  data.max_response_length=3072 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
  actor_rollout_ref.actor.strategy=fsdp2 actor_rollout_ref.actor.ppo_mini_batch_size=128 \
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
  actor_rollout_ref.actor.use_kl_loss=False actor_rollout_ref.rollout.name=vllm \
  actor_rollout_ref.rollout.quantization=fp8 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=2 trainer.n_gpus_per_node=8 \
  trainer.nnodes=1
