# Of transformers 5: every other layer runs again, its input in host memory meanwhile.
#moeplan cluster=h100-1x1
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-1.7B", dtype=torch.bfloat16)
arguments = TrainingArguments(
    per_device_train_batch_size=2,
    bf16=True,
    activation_checkpointing=True,
    activation_checkpointing_kwargs={"every_n_layers": 2, "offload": True},
)
trainer = Trainer(
    model=model, args=arguments, train_dataset=load_dataset("trl-lib/Capybara", split="train")
)
trainer.train()
