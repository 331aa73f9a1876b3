# A base in HQQ's 4 bits.
#moeplan cluster=a100
import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, HqqConfig
from trl import SFTConfig, SFTTrainer

quantization = HqqConfig(nbits=4, group_size=64)
model = AutoModelForCausalLM.from_pretrained(
    "meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16, quantization_config=quantization
)
trainer = SFTTrainer(
    model=model,
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=LoraConfig(r=8, target_modules="all-linear"),
    args=SFTConfig(
        per_device_train_batch_size=2, max_length=2048, bf16=True, loss_type="nll"
    ),
)
trainer.train()
