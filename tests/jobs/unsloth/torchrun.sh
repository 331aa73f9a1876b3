#!/bin/bash
#moeplan cluster=h100
# Over two devices layers run again without going to the host; the script stands in the job.
cat > train.py <<'PY'
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=2)
parser.add_argument("--model", default="unsloth/Qwen3-14B-unsloth-bnb-4bit")
args = parser.parse_args()

def main():
    model, tokenizer = FastLanguageModel.from_pretrained(args.model, max_seq_length=1024)
    model = FastLanguageModel.get_peft_model(model, lora_dropout=0.1)
    SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=args.batch_size))

if __name__ == "__main__":
    main()
PY
torchrun --nproc-per-node 2 train.py
