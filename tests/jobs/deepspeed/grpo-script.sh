# A script of one's own by TRL's flags, in a file: adapters, whose base is the reference, and
# an engine that nothing says where it stands.
cat > grpo.yaml <<'EOT'
model_name_or_path: Qwen/Qwen3-30B-A3B
per_device_train_batch_size: 4
num_generations: 16
max_completion_length: 2048
use_vllm: true
use_peft: true
lora_r: 32
beta: 0.04
reward_model_name_or_path: my/reward-8b
EOT
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero3.yaml \
  src/train_grpo.py --config grpo.yaml
