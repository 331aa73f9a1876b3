# Every weight in 16 bits, with Unsloth's own defaults of SFTConfig: 4 sequences, 2 passes, 8-bit
# states; max_length gives way to what the model was loaded for.
#moeplan cluster=h100-1x1
from unsloth import FastModel
from trl import SFTConfig, SFTTrainer

model, tokenizer = FastModel.from_pretrained("unsloth/Qwen3-4B", full_finetuning=True)
args = SFTConfig(max_length=8192, output_dir="outputs")
args.gradient_accumulation_steps = 1
SFTTrainer(model=model, args=args, train_dataset=load("data.jsonl")).train()
