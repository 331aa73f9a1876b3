#moeplan cluster=h100
accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 train.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --bf16
