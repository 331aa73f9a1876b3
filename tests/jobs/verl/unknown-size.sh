N_PER_NODE=`nvidia-smi -L | wc -l`
python3 -m verl.trainer.main_ppo --config-path=./config --config-name='ppo_megatron_trainer' \
    actor_rollout_ref.model.path=Qwen/Qwen3-32B \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=8 \
    trainer.n_gpus_per_node=$N_PER_NODE \
    trainer.nnodes=2
