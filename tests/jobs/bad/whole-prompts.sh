#moeplan cluster=h100
vllm serve Qwen/Qwen3-30B-A3B -tp 2 --max-num-batched-tokens 1024 --no-enable-chunked-prefill --max-model-len 8192
