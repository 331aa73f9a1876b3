# Sequences shared out by Accelerate's mesh (Ulysses): two ranks have the halves of each.
#moeplan cluster=h100
cat > mesh.yaml <<'Y'
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
mixed_precision: bf16
num_machines: 1
num_processes: 8
parallelism_config:
  parallelism_config_dp_replicate_size: 1
  parallelism_config_dp_shard_size: 4
  parallelism_config_sp_size: 2
  parallelism_config_sp_backend: deepspeed
  parallelism_config_sp_attn_implementation: flash_attention_2
Y
accelerate launch --config_file mesh.yaml train.py --model_name_or_path Qwen/Qwen3-30B-A3B \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 32768 --bf16 \
  --gradient_checkpointing true
