# prompts split over four ranks, each with whole caches
vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 2 --prefill-context-parallel-size 4 \
    --enable-expert-parallel --max-model-len 131072 --max-num-seqs 64
