# TRL's own file of Accelerate by its name, which says that it is FSDP's.
#moeplan cluster=h100
trl sft --accelerate_config fsdp2 --num_processes 8 --model_name_or_path Qwen/Qwen3-30B-A3B \
  --per_device_train_batch_size 1 --max_length 4096
