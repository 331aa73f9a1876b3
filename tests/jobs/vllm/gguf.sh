#moeplan cluster=h100
vllm serve unsloth/Qwen3-30B-A3B-GGUF --tokenizer Qwen/Qwen3-30B-A3B --max-model-len 8192
