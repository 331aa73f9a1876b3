#moeplan cluster=h100-1x1
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastLanguageModel.from_pretrained(
    max_seq_length=4096,
    model_name="unsloth/Qwen3-8X-bnb-4bit",
)
SFTTrainer(model=model, args=SFTConfig())
