# Llama-3.1-8B in 4 bits by a script as its notebooks have it: transformers' own arguments, whose
# defaults Unsloth leaves as they are, and a length that stands at the trainer too.
#moeplan cluster=a100-1x1
from unsloth import FastLanguageModel, is_bfloat16_supported
from trl import SFTTrainer
from transformers import TrainingArguments
from datasets import load_dataset

max_seq_length = 4096
dtype = None
load_in_4bit = True

model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Meta-Llama-3.1-8B-bnb-4bit",
    max_seq_length=max_seq_length,
    dtype=dtype,
    load_in_4bit=load_in_4bit,
)
model = FastLanguageModel.get_peft_model(
    model,
    r=16,
    lora_alpha=16,
    use_gradient_checkpointing="unsloth",  # for long contexts
)
dataset = load_dataset("yahma/alpaca-cleaned", split="train")
dataset = dataset.map(lambda rows: {"text": [r + "</s>" for r in rows["text"]]}, batched=True)

trainer = SFTTrainer(
    model=model,
    tokenizer=tokenizer,
    train_dataset=dataset["train"],
    dataset_text_field="text",
    max_seq_length=max_seq_length,
    packing=False,
    args=TrainingArguments(
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        fp16=not is_bfloat16_supported(),
        bf16=is_bfloat16_supported(),
        optim="adamw_8bit",
        report_to="none",
    ),
)
trainer_stats = trainer.train()

if False:
    model, tokenizer = FastLanguageModel.from_pretrained(model_name="lora_model")
