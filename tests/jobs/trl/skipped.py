# bitsandbytes passes by attention and the head; adapters of the upper half's networks but their
# last product.
#moeplan cluster=a100
import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained(
    "meta-llama/Llama-3.1-8B",
    torch_dtype=torch.bfloat16,
    quantization_config=BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_use_double_quant=True,
        llm_int8_skip_modules=["q_proj", "k_proj", "v_proj", "o_proj", "lm_head"],
    ),
)
trainer = SFTTrainer(
    model=model,
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=LoraConfig(
        r=8,
        target_modules=["gate_proj", "up_proj", "down_proj"],
        exclude_modules=["down_proj"],
        layers_to_transform=[16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31],
    ),
    args=SFTConfig(per_device_train_batch_size=2, max_length=2048, bf16=True),
)
trainer.train()
