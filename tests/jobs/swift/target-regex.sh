#moeplan cluster=h100
# Keys and values of the last layers alone.
CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen3-8B \
    --tuner_type lora \
    --target_regex 'model\.layers\.(3[0-5])\.self_attn\.(k|v)_proj' \
    --lora_rank 8 \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 16 \
    --max_length 2048
