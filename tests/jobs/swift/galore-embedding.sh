# GaLore of the embedding, too, where all layers have one device.
#moeplan cluster=h100-1x1
CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --dataset AI-ModelScope/alpaca-gpt4-data-en \
    --tuner_type full \
    --use_galore true \
    --galore_rank 64 \
    --galore_with_embedding true \
    --max_length 2048
