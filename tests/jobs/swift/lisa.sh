CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --dataset AI-ModelScope/alpaca-gpt4-data-en \
    --tuner_type full \
    --lisa_activated_layers 2 \
    --lisa_step_interval 20 \
    --max_length 2048
