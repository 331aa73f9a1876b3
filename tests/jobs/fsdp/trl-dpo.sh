#!/bin/bash
# A preference by TRL's own command: nothing is said of recomputation, of formats or of lengths,
# which TRL decides.
cat > fsdp2.yaml <<'EOT'
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
mixed_precision: bf16
num_machines: 1
num_processes: 8
EOT
trl dpo --accelerate_config fsdp2.yaml --model_name_or_path allenai/OLMoE-1B-7B-0924-Instruct \
  --dataset_name trl-lib/ultrafeedback_binarized --per_device_train_batch_size 2 \
  --gradient_accumulation_steps 4 --beta 0.1 --activation_offloading --output_dir olmoe-dpo
