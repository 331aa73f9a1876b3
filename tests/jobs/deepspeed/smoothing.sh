#moeplan cluster=h100-8x1
# DeepSpeed hands the model's logits on as they are.
deepspeed --num_gpus 8 finetune.py --deepspeed zero3-auto.json --model_name_or_path Qwen/Qwen3-8B \
  --bf16 true --label_smoothing_factor 0.1 --per_device_train_batch_size 1 --max_seq_length 4096
