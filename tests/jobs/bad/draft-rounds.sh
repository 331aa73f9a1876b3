vllm serve stepfun-ai/Step-3.7-Flash --tensor-parallel-size 8 \
    --speculative-config '{"method": "mtp", "num_speculative_tokens": 4}'
