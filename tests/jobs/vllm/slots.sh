# 256 tokens a step and so sequences: every rank has slots for those of all
vllm serve deepseek-ai/DeepSeek-V3 --data-parallel-size 8 --enable-expert-parallel \
    --all2all-backend deepep_low_latency
