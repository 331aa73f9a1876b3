# Fewer tokens a step than sequences by default.
vllm serve Qwen/Qwen3-30B-A3B --max-num-batched-tokens 128
