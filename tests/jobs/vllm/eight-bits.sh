#moeplan cluster=h100
vllm serve Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8 -tp 2 --max-model-len 8192
