accelerate launch --use_fsdp --fsdp-version=2 --fsdp_reshard_after_forward false \
  --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --fsdp_offload_params true \
  --mixed_precision bf16 --num_processes 8 \
  sft.py --model_name_or_path Qwen/Qwen3-30B-A3B --torch_dtype bfloat16 --use_peft --lora_r 32 \
  --lora_target_modules q_proj v_proj --max_length 8192 --per_device_train_batch_size 1 \
  --use_liger_kernel
