# Adapters of the last eight layers beside a base in 8 bits, whose networks take a long sequence
# in parts, and whose embedding is in host memory.
#moeplan cluster=h100
from unsloth import FastLanguageModel
from trl import SFTTrainer, SFTConfig

model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Qwen3-8B",
    max_seq_length=32768,
    load_in_4bit=False,
    load_in_fp8="block",
    unsloth_tiled_mlp=True,
    offload_embedding=True,
)
model = FastLanguageModel.get_peft_model(model, r=16, lora_alpha=16, finetune_last_n_layers=8)
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    args=SFTConfig(per_device_train_batch_size=1, gradient_accumulation_steps=4),
)
trainer.train()
