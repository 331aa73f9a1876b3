#!/bin/bash
# PPO beside a critic and a reward model of another shape; batches of all ranks; $HOME's paths.
set -x
MODEL=$HOME/models/Qwen/Qwen2.5-14B-Instruct
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.train_batch_size=1024 \
    data.max_prompt_length=1024 data.max_response_length=2048 \
    actor_rollout_ref.model.path=$MODEL \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \
    actor_rollout_ref.actor.ppo_micro_batch_size=16 \
    actor_rollout_ref.actor.fsdp_config.param_offload=True \
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    critic.model.path=meta-llama/Llama-3.1-8B-Instruct critic.ppo_micro_batch_size=16 \
    critic.model.enable_gradient_checkpointing=True \
    critic.model.fsdp_config.param_offload=True critic.model.fsdp_config.optimizer_offload=True \
    reward_model.enable=True reward_model.model.path=Qwen/Qwen2.5-7B-Instruct \
    reward_model.micro_batch_size_per_gpu=8 trainer.n_gpus_per_node=8 trainer.nnodes=1 $@
