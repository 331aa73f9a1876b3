#moeplan cluster=h100
# The vision tower alone runs again.
CUDA_VISIBLE_DEVICES=0,1,2,3 \
NPROC_PER_NODE=4 \
VIDEO_MAX_PIXELS=50176 \
swift sft \
    --model Qwen/Qwen2.5-VL-7B-Instruct \
    --train_type full \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 4 \
    --freeze_vit false \
    --freeze_aligner false \
    --gradient_accumulation_steps 1 \
    --gradient_checkpointing false \
    --vit_gradient_checkpointing true \
    --max_length 2048 \
    --deepspeed zero3 \
    --attn_impl flash_attn
