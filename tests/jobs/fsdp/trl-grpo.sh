#!/bin/bash
# GRPO by TRL's own command: vLLM sleeps on the devices that train, and a reference is weighed.
cat > fsdp2.yaml <<'EOT'
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
mixed_precision: bf16
num_machines: 1
num_processes: 8
EOT
trl grpo --accelerate_config fsdp2.yaml --model_name_or_path Qwen/Qwen3-30B-A3B \
  --dataset_name trl-lib/tldr --reward_funcs accuracy_reward --per_device_train_batch_size 2 \
  --gradient_accumulation_steps 8 --num_generations 8 --max_prompt_length 1024 \
  --max_completion_length 3072 --use_vllm --vllm_mode colocate --vllm_enable_sleep_mode \
  --vllm_tensor_parallel_size 4 --vllm_gpu_memory_utilization 0.45 --beta 0.001
