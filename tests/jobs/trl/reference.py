# Preferences of a whole model that is loaded as transformers 4 does, in f32: so is the reference.
#moeplan cluster=h100-8x1
from trl import DPOConfig, DPOTrainer

DPOTrainer(
    "Qwen/Qwen2.5-7B-Instruct",
    args=DPOConfig(per_device_train_batch_size=2, bf16=True),
).train()
