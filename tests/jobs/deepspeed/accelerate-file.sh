cat > accelerate.yaml <<EOF
compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  deepspeed_multinode_launcher: standard
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
distributed_type: DEEPSPEED
downcast_bf16: 'no'
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 8
rdzv_backend: static
same_network: true
tpu_env: []
use_cpu: false
EOF
accelerate launch --config_file accelerate.yaml --num_processes 16 sft.py --model_name_or_path openai/gpt-oss-20b --per_device_train_batch_size 1 --gradient_accumulation_steps 2 \
   --max_length 4096 --gradient_checkpointing --use_peft --lora_r 8 --lora_target_modules all-linear --optim adamw_bnb_8bit
