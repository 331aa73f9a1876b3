# Adapters of Megatron-Bridge: the base is the reference, nothing is run again unless it is said.
python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer' \
    algorithm.adv_estimator=grpo data.max_prompt_length=1024 data.max_response_length=1024 \
    actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B-Instruct-2507 \
    actor_rollout_ref.model.lora.rank=16 actor_rollout_ref.model.lora.alpha=32 \
    actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.megatron.use_mbridge=True \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 \
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=selective \
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_modules=[core_attn,moe_act]" \
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 trainer.nnodes=1
