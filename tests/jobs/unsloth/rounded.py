# Adapters beside a base whose linear layers are rounded as they are used.
#moeplan cluster=h100-1x1
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained(
    "unsloth/Qwen3-4B", max_seq_length=2048, load_in_4bit=False,
)
model = FastLanguageModel.get_peft_model(model, r=32, qat_scheme="fp8-int4")
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    args=SFTConfig(per_device_train_batch_size=2, max_length=2048, output_dir="out"),
)
trainer.train()
