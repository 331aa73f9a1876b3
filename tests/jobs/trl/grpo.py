# GRPO without vLLM: the model that is trained writes its answers, 16 at once on a device.
#moeplan cluster=h100-8x1
from trl import GRPOConfig, GRPOTrainer

training_args = GRPOConfig(
    output_dir="Qwen2.5-7B-GRPO", per_device_train_batch_size=4, gradient_accumulation_steps=4,
    max_prompt_length=512, max_completion_length=1024, bf16=True, learning_rate=1e-6,
    model_init_kwargs={"torch_dtype": "bfloat16"}, beta=0.04,
    deepspeed={"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}},
)
trainer = GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", reward_funcs=reward,
                      args=training_args, train_dataset=dataset)
trainer.train()
