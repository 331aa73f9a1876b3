from trl import SFTConfig, SFTTrainer

SFTTrainer(model="Qwen/Qwen3-8B", args=SFTConfig(per_device_train_batch_size=1
