# prompts of DeepSeek-V3.2 over all ranks, tokens in turn
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --ep 8 \
    --attn-cp-size 8 --enable-prefill-cp --cp-strategy interleave \
    --disaggregation-mode prefill --context-length 65536 --chunked-prefill-size 32768
