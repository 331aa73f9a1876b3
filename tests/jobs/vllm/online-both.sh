# experts in four bits, linear layers in eight
vllm serve Qwen/Qwen3-30B-A3B --quantization online \
    --quantization-config '{"moe": "mxfp4", "linear": {"weight": "fp8_per_block_static"}}' \
    --max-model-len 32768 --ubatch-size 2
