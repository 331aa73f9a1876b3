# A classifier of transformers' own trainer: a head of seven labels.
#moeplan cluster=h100-1x1
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

model = AutoModelForSequenceClassification.from_pretrained(
    "Qwen/Qwen3-0.6B", num_labels=7, torch_dtype="bfloat16"
)
args = TrainingArguments(per_device_train_batch_size=16, bf16=True, max_length=2048)
Trainer(model=model, args=args, train_dataset=data).train()
