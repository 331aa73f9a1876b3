# The model generates by itself, a module's weights gathered at a time.
#moeplan cluster=h100-8x1
cat > zero3.json <<'EOF'
{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true},
 "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
EOF
accelerate launch --num_processes 8 grpo.py \
    --model_name_or_path Qwen/Qwen3-8B \
    --deepspeed zero3.json \
    --per_device_train_batch_size 4 \
    --gradient_accumulation_steps 2 \
    --num_generations 8 \
    --max_prompt_length 512 \
    --max_completion_length 512 \
    --ds3_gather_for_generation false \
    --auto_find_batch_size true \
    --bf16 true
