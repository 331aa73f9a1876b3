torchrun --nproc-per-node 8 sft.py --model_name_or_path Qwen/Qwen3-8B \
  --per_device_train_batch_size 1 --bf16 true --deepspeed $DS_CONFIG
