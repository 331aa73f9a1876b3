# Preferences with adapters of PEFT's own defaults: the base is the reference, both answers are
# in one batch. The format stands among what the trainer loads the model with.
#moeplan cluster=h100-8x1
from peft import LoraConfig
from trl import DPOConfig, DPOTrainer

DPOTrainer(
    "Qwen/Qwen2.5-7B-Instruct",
    args=DPOConfig(
        per_device_train_batch_size=2,
        model_init_kwargs={"dtype": "bfloat16"},
        **common,
    ),
    peft_config=LoraConfig(),
).train()
