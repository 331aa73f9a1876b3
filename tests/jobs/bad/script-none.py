from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-8B")
FastLanguageModel.for_inference(model)
