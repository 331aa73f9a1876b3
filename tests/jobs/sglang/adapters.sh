# Adapters of a stated rank; every replica of attention with dense networks and a head of its own.
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 \
  --tp 8 --dp 8 --enable-dp-attention --ep 8 --moe-dense-tp-size 1 --enable-dp-lm-head \
  --lora-paths first=/adapters/a second=/adapters/b --max-loras-per-batch 4 --max-lora-rank 32 \
  --lora-target-modules o_proj --max-running-requests 512 --context-length 16384
