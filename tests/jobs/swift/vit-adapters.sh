#moeplan cluster=h100
# Adapters in the vision tower, too.
NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 \
swift sft \
    --model Qwen/Qwen2.5-VL-7B-Instruct \
    --tuner_type lora \
    --target_modules all-linear \
    --freeze_vit false \
    --freeze_aligner true \
    --lora_rank 8 \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 16 \
    --max_length 2048
