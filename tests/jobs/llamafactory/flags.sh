#moeplan cluster=a100
# As flags, on every device by itself: full weights, which are raised to f32.
torchrun --standalone --nproc_per_node 8 src/train.py \
    --stage sft --do_train True --model_name_or_path allenai/OLMoE-1B-7B-0924 \
    --finetuning_type full --flash_attn disabled --dataset alpaca_gpt4_en --template default \
    --cutoff_len 1024 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
    --learning_rate 5e-05 --num_train_epochs 3.0 --bf16 True --enable_liger_kernel True \
    --output_dir saves/olmoe --optim adamw_torch
