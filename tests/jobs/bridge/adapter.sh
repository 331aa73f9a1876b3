torchrun --nproc-per-node=8 scripts/training/finetune_decoder.py --recipe gpt_oss_20b_peft_config --peft lora \
  peft.dim=32 peft.alpha=64 peft.target_modules=[linear_qkv,linear_proj] train.global_batch_size=128 train.micro_batch_size=1 \
  model.seq_length=2048 model.expert_model_parallel_size=8
