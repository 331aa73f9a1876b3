# GRPO of TRL's with its own defaults: eight sequences at once, logits of completions alone.
#moeplan cluster=h100
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero3.yaml \
    examples/scripts/gspo.py --model_name_or_path Qwen/Qwen3-4B --dtype bfloat16 \
    --max_prompt_length 2048 --max_completion_length 1024 --use_vllm --vllm_mode colocate \
    --num_generations 8 --importance_sampling_level sequence --beta 0.0 --loss_type grpo
