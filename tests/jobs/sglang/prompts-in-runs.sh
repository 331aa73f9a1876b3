# of R1 SGLang takes DeepEP and whole dense networks by itself
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 \
    --attention-context-parallel-size 8 --enable-prefill-cp --cp-strategy zigzag \
    --context-length 65536
