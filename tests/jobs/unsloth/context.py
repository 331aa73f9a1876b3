# Sequences shared out over two devices, and rows for new words.
#moeplan cluster=h100-2x1
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained(
    "unsloth/Qwen3-8B", max_seq_length=32768, load_in_4bit=True, resize_model_vocab=152064,
)
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"])
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    args=SFTConfig(
        per_device_train_batch_size=1, gradient_accumulation_steps=2, max_length=32768,
        context_parallel_size=2, optim="adamw_8bit", output_dir="out",
    ),
)
trainer.train()
