#!/bin/bash
#SBATCH --nodes=4
#moeplan cluster=h100
# Preferences on Megatron, by overrides of NeMo-RL's own dpo.yaml.
uv run examples/run_dpo.py policy.model_name=Qwen/Qwen3-30B-A3B \
    policy.dtensor_cfg.enabled=false policy.megatron_cfg.enabled=true \
    policy.megatron_cfg.tensor_model_parallel_size=2 policy.megatron_cfg.sequence_parallel=true \
    policy.megatron_cfg.expert_model_parallel_size=8 \
    policy.megatron_cfg.optimizer.use_precision_aware_optimizer=false \
    policy.megatron_cfg.activation_checkpointing=True \
    policy.train_global_batch_size=64 policy.train_micro_batch_size=1 \
    policy.max_total_sequence_length=4096 dpo.val_at_start=False \
    cluster.num_nodes=4 cluster.gpus_per_node=8
