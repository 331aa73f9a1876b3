# PPO by Megatron: actor and critic give way to each other and to the engine.
#moeplan cluster=h200-8x1
python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml \
    algorithm.adv_estimator=gae \
    actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    actor_rollout_ref.actor.strategy=megatron \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 \
    actor_rollout_ref.actor.megatron.param_offload=True \
    actor_rollout_ref.actor.megatron.optimizer_offload=True \
    actor_rollout_ref.actor.megatron.grad_offload=True \
    critic.model.path=Qwen/Qwen3-30B-A3B \
    critic.megatron.param_offload=True \
    critic.megatron.optimizer_offload=True \
    actor_rollout_ref.rollout.name=sglang \
    trainer.n_gpus_per_node=8 trainer.nnodes=1
