# Adapters beside gpt-oss as it is stored, unpacked to 16 bits for training.
#moeplan cluster=h100-8x1
import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, Mxfp4Config
from trl import SFTConfig, SFTTrainer

quantization_config = Mxfp4Config(dequantize=True)
model = AutoModelForCausalLM.from_pretrained(
    "openai/gpt-oss-20b", attn_implementation="eager", torch_dtype=torch.bfloat16,
    quantization_config=quantization_config, use_cache=False)
peft_config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear")
training_args = SFTConfig(
    output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=4, max_length=2048,
    gradient_checkpointing=True)
trainer = SFTTrainer(model=model, args=training_args, peft_config=peft_config)
trainer.train()
