uv run --isolated --extra mcore -m skyrl_train.entrypoints.main_base \
  trainer.strategy=megatron trainer.policy.model.path=Qwen/Qwen3-30B-A3B \
  trainer.policy.megatron_config.expert_model_parallel_size=8
