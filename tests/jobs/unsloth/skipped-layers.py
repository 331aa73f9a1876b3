# Four layers keep what they have made.
#moeplan cluster=h100
from unsloth import FastLanguageModel
from trl import SFTTrainer, SFTConfig

model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Qwen3-8B",
    max_seq_length=4096,
    load_in_4bit=True,
)
model = FastLanguageModel.get_peft_model(model, r=16, lora_alpha=16, checkpoint_skip_layers=4)
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    args=SFTConfig(per_device_train_batch_size=1, gradient_accumulation_steps=4),
)
trainer.train()
