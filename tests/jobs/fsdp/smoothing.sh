#moeplan cluster=h100-8x1
# Labels are smoothed: the Trainer makes the loss of whole logits, whatever Liger would do.
torchrun --nproc_per_node 8 finetune.py --model_name_or_path Qwen/Qwen3-8B \
  --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json --bf16 true --use_liger_kernel true \
  --label_smoothing_factor 0.1 --per_device_train_batch_size 1 --max_seq_length 4096
