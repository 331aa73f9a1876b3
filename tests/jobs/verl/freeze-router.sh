#!/bin/bash
# DAPO with Megatron's actor: packed micro-batches, a critic by verl's default estimator.
#moeplan cluster=h100
NNODES=${NNODES:-4}
python3 -m recipe.dapo.main_dapo \
    data.max_prompt_length=2048 \
    data.max_response_length=6144 \
    +actor_rollout_ref.model.override_config.moe_config.freeze_moe_router=True actor_rollout_ref.model.path="${MODEL:-moonshotai/Moonlight-16B-A3B}" \
    actor_rollout_ref.actor.strategy=megatron \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \
    actor_rollout_ref.actor.megatron.context_parallel_size=2 \
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 \
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 \
    actor_rollout_ref.rollout.name=sglang \
    actor_rollout_ref.rollout.free_cache_engine=False \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.3 \
    actor_rollout_ref.actor.megatron.param_offload=True \
    trainer.nnodes=$NNODES
