#moeplan cluster=h200-8x1
cat > ds.json <<'JSON'
{
  "zero_optimization": {"stage": 3},
  "bf16": {"enabled": true},
}
JSON
accelerate launch --num_processes 8 train.py --model_name_or_path Qwen/Qwen3-30B-A3B --per_device_train_batch_size 1 --deepspeed ds.json
