#moeplan cluster=h100
accelerate launch --use_fsdp --fsdp_sharding_strategy SHARD_ALL --num_processes 8 train.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --per_device_train_batch_size 1
