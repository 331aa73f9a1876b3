#moeplan cluster=h200
# Tensor parallelism with the experts spread over the same ranks.
vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-expert-parallel --max-model-len 8K \
    --max_num_seqs=128 --kv-cache-dtype fp8 --trust-remote-code --port 8000
