#!/bin/bash
#moeplan cluster=h100-8x1
# transformers' own trainer under FSDP by Accelerate's flags; a field's default is the size.
cat > train.py <<'PY'
from dataclasses import dataclass, field
import torch
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

@dataclass
class Sizes:
    batch: int = field(default=1, metadata={"help": "a device's"})

sizes = HfArgumentParser(Sizes).parse_args_into_dataclasses()[0]
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-30B-A3B", torch_dtype=torch.bfloat16)
model.gradient_checkpointing_enable()
arguments = TrainingArguments("out", per_device_train_batch_size=sizes.batch, bf16=True)
trainer = Trainer(model=model, args=arguments, train_dataset=data)
trainer.train()
PY
accelerate launch --use_fsdp --fsdp_version 2 --fsdp_reshard_after_forward true \
  --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --num_processes 8 train.py
