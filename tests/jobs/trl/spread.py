# one process, whose model's layers are over all devices: one copy, no replicas
#moeplan cluster=a100-8x1
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen3-30B-A3B", device_map="auto", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=8, bf16=True,
    gradient_checkpointing=True)
Trainer(model=model, args=args, train_dataset=data).train()
