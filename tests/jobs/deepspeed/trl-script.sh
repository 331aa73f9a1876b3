# TRL's script by Accelerate, with a file of its repository that is not beside the job.
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero2.yaml \
  trl/scripts/sft.py --model_name_or_path openai/gpt-oss-20b \
  --dataset_name HuggingFaceH4/Multilingual-Thinking --learning_rate 2e-4 \
  --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --max_length 2048 \
  --loss_type nll --output_dir gpt-oss-20b-multilingual-reasoner
