# A reward model of TRL's trainer: one score of both answers, no logits.
#moeplan cluster=h100-8x1
from trl import RewardConfig, RewardTrainer

RewardTrainer(
    "Qwen/Qwen3-8B",
    args=RewardConfig(
        per_device_train_batch_size=4,
        max_length=4096,
        model_init_kwargs={"dtype": "bfloat16"},
        deepspeed={"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}},
    ),
).train()
