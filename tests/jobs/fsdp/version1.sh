#!/bin/bash
#moeplan cluster=h100
# The older file: strategies by number, and what the command line says holds against it.
cat > fsdp_config.yaml <<'YAML'
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch_policy: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_forward_prefetch: false
  fsdp_offload_params: false
  fsdp_sharding_strategy: 1
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_use_orig_params: true
mixed_precision: bf16
num_machines: 1
num_processes: 8
YAML
MODEL=${MODEL:-mistralai/Mixtral-8x7B-v0.1}
accelerate launch --config_file fsdp_config.yaml --num_processes 16 --num_machines=2 \
  --fsdp_sharding_strategy SHARD_GRAD_OP train.py --model_name_or_path "$MODEL" \
  --max_seq_length 4096 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
  --gradient_checkpointing True --optim adamw_torch
