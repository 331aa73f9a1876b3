#moeplan cluster=h200
NODES=4
cat > mesh.yaml <<YAML
distributed_type: FSDP
mixed_precision: 'no'
num_machines: ${NODES}
num_processes: 32
fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}
parallelism_config:
  parallelism_config_dp_replicate_size: 4
  parallelism_config_dp_shard_size: 4
  parallelism_config_tp_size: 1
  parallelism_config_cp_size: 2
YAML
accelerate launch --config_file=mesh.yaml -m trainer.sft --model_name_or_path Qwen/Qwen3-30B-A3B \
  --dtype bfloat16 --per_device_train_batch_size 1 --max_length 16384 --optim paged_adamw_8bit
