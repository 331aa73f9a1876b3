trl grpo --accelerate_config zero3 --model_name_or_path Qwen/Qwen3-30B-A3B \
  --per_device_train_batch_size 1 --max_prompt_length 512 --use_vllm --vllm_mode beside
