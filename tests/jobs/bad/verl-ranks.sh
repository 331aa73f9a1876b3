#moeplan cluster=h100
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \
    trainer.nnodes=0
