# --flash_attn was a switch.
deepspeed --num_gpus 8 --master_port=9901 src/train_bash.py \
    --deepspeed examples/deepseed/ds_z3_offload_config.json \
    --stage sft \
    --cutoff_len 32768 \
    --do_train \
    --model_name_or_path Qwen/Qwen3-32B \
    --dataset $dataset \
    --template qwen \
    --finetuning_type full \
    --output_dir $output_dir \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 1 \
    --preprocessing_num_workers 32 \
    --lr_scheduler_type cosine \
    --logging_steps 5 \
    --max_grad_norm 1 \
    --bf16 \
    --flash_attn
