# Gemma by its own guide: what loads the model stands in a mapping, of which one entry comes
# later.
#moeplan cluster=h100-1x1
import torch
from peft import LoraConfig
from transformers import AutoModelForImageTextToText, AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

model_id = "google/gemma-4-31b-it"
if torch.cuda.get_device_capability()[0] < 8:
    raise ValueError("GPU does not support bfloat16")

model_kwargs = dict(
    attn_implementation="eager",
    torch_dtype=torch.bfloat16,
    device_map="auto",
)
model_kwargs["quantization_config"] = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_dtype=model_kwargs["torch_dtype"],
)
model = AutoModelForImageTextToText.from_pretrained(model_id, **model_kwargs)
tokenizer = AutoTokenizer.from_pretrained(model_id)
peft_config = LoraConfig(
    lora_alpha=16, lora_dropout=0.05, r=16, bias="none", target_modules="all-linear",
    task_type="CAUSAL_LM", modules_to_save=["lm_head", "embed_tokens"],
)
args = SFTConfig(
    output_dir="gemma", max_length=512, packing=True, per_device_train_batch_size=1,
    gradient_accumulation_steps=4, gradient_checkpointing=True, optim="adamw_torch_fused",
    bf16=True if torch.cuda.is_bf16_supported() else False,
)
trainer = SFTTrainer(model=model, args=args, train_dataset=dataset, peft_config=peft_config)
trainer.train()
