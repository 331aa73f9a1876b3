# RLOO, whose divergence from a reference is weighed by default, with an engine elsewhere.
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero2.yaml \
  trl/scripts/rloo.py --model_name_or_path allenai/OLMoE-1B-7B-0924-Instruct \
  --per_device_train_batch_size 1 --num_generations 4 --max_prompt_length 256 \
  --use_vllm true --vllm_mode server --vllm_server_host 10.0.0.7
