# one sequence at a time: one row is sampled in the profile run, three graphs are captured
vllm serve nvidia/Qwen3.6-35B-A3B-NVFP4 --max-model-len 131072 --kv-cache-dtype fp8 \
    --max-num-batched-tokens 8192 --max-num-seqs 1
