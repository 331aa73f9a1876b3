# DeepSpeed's own reader takes Hjson: comments, a comma behind the last entry
cat > ds.json <<'JSON'
{
  # of all ranks
  "train_micro_batch_size_per_gpu": 2,
  "zero_optimization": {"stage": 2},
  "bf16": {"enabled": true},
}
JSON
deepspeed --num_gpus 8 train.py --model_name_or_path Qwen/Qwen3-30B-A3B --deepspeed_config ds.json
