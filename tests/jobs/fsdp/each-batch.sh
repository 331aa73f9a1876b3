#moeplan cluster=h100-8x1
# Gradients of each micro-batch are reduced at once, which the Trainer leaves to the last one.
accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 --mixed_precision bf16 \
  --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP train.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --max_seq_length 4096 --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --gradient_checkpointing true \
  --accelerator_config '{"gradient_accumulation_kwargs": {"sync_each_batch": true}}'
