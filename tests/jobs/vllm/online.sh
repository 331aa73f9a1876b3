# experts quantised as they are loaded, the rest left as it is
vllm serve Qwen/Qwen3-30B-A3B --quantization-config '{"moe": "int8_per_channel_weight_only"}' \
    --max-model-len 32768 --enable-dbo --ubatch-size 4
