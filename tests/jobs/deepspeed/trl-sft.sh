# TRL's own command over the ZeRO-3 file that comes with it, adapters on attention alone.
trl sft --accelerate_config zero3 --num_processes 16 --num_machines 2 --machine_rank 0 \
  --main_process_ip 10.0.0.1 --model_name_or_path Qwen/Qwen3-30B-A3B-Instruct-2507 \
  --dataset_name open-r1/Mixture-of-Thoughts --packing --max_length 8192 \
  --per_device_train_batch_size 1 --use_peft --lora_r 16 --lora_alpha 32 \
  --lora_target_modules q_proj k_proj v_proj o_proj --output_dir out
