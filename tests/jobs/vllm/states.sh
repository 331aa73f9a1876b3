# All states of a hybrid are kept for prefixes, every 512 tokens or a multiple that fits a block
vllm serve nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 --max-model-len 65536 \
  --enable-prefix-caching --mamba-block-size 512 --mamba-cache-dtype float32
