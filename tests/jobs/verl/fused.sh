#moeplan cluster=h100
# No logits of all rows, inputs of layers in host memory, and a model that scores.
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    actor_rollout_ref.actor.strategy=fsdp2 \
    actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    data.max_prompt_length=1024 data.max_response_length=7168 \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.model.enable_activation_offload=True \
    actor_rollout_ref.model.use_fused_kernels=True \
    reward_model.enable=True \
    trainer.n_gpus_per_node=8 trainer.nnodes=2
