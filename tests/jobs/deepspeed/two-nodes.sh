deepspeed --num_nodes 2 --num_gpus=8 --hostfile hf.txt train.py --deepspeed zero3-offload.json --model_name_or_path mistralai/Mixtral-8x7B-v0.1 \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_seq_length 4096 --bf16 True --gradient_checkpointing True --learning_rate 1e-5 --output_dir out
