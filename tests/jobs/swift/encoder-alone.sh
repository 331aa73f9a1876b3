# The vision tower alone has adapters.
CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen2.5-VL-7B-Instruct \
    --dataset 'modelscope/coco_2014_caption:validation#20000' \
    --tuner_type lora \
    --lora_rank 8 \
    --target_modules all-linear \
    --freeze_llm true \
    --freeze_vit false \
    --freeze_aligner true \
    --max_length 4096
