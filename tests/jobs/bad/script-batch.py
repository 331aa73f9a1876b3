from trl import SFTConfig, SFTTrainer

config = SFTConfig(
    max_length=2048,
    per_device_train_batch_size=max(
        1, tokens // 2048),
)
SFTTrainer(model="Qwen/Qwen3-8B", args=config).train()
