# TRL's own example of PPO, with Qwen3-8B; how long prompts are is the data's.
#moeplan cluster=h100-8x1
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero3.yaml \
    examples/scripts/ppo/ppo.py \
    --dataset_name trl-internal-testing/descriptiveness-sentiment-trl-style \
    --output_dir ppo \
    --num_ppo_epochs 1 \
    --num_mini_batches 1 \
    --learning_rate 3e-6 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 16 \
    --total_episodes 10000 \
    --model_name_or_path Qwen/Qwen3-8B \
    --sft_model_path Qwen/Qwen3-8B \
    --reward_model_path Qwen/Qwen3-8B \
    --local_rollout_forward_batch_size 1 \
    --missing_eos_penalty 1.0
