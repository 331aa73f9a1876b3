#moeplan cluster=h100
accelerate launch --use_fsdp --fsdp_sharding_strategy FULL_SHARD --fsdp_backward_prefetch BACKWARD_EARLY \
  --num_processes 8 train.py --model_name_or_path mistralai/Mixtral-8x7B-v0.1 \
  --per_device_train_batch_size 1 --max_seq_length 4096 --bf16 True
