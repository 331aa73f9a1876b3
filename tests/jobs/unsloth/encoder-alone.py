#moeplan cluster=a100
from unsloth import FastVisionModel
from trl import SFTTrainer, SFTConfig

model, tokenizer = FastVisionModel.from_pretrained("unsloth/Qwen2.5-VL-7B-Instruct")
model = FastVisionModel.get_peft_model(
    model,
    finetune_vision_layers=True,
    finetune_language_layers=False,
    r=16,
    lora_alpha=16,
)
trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    args=SFTConfig(per_device_train_batch_size=1, max_length=2048),
)
trainer.train()
