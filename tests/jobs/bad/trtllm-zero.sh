#moeplan cluster=h100-8x1
trtllm-serve Qwen/Qwen3-30B-A3B --max_num_tokens 0
