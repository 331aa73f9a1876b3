#!/bin/bash
# Two of the longest are more than the tokens of a micro-batch, over which verl spreads them evenly.
#moeplan cluster=h200
python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' \
    algorithm.adv_estimator=grpo \
    data.max_prompt_length=1024 \
    data.max_response_length=8192 \
    actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 \
    actor_rollout_ref.actor.ppo_mini_batch_size=12 \
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \
    actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size=2 \
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=3 \
    trainer.n_gpus_per_node=8 \
    trainer.nnodes=1
