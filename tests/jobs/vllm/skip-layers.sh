# window layers keep 16 bits
vllm serve openai/gpt-oss-120b --kv-cache-dtype fp8 --max-model-len 65536 \
    --kv-cache-dtype-skip-layers sliding_window
