# all three modules are in memory, though one drafts
vllm serve stepfun-ai/Step-3.7-Flash --tensor-parallel-size 8 --max-model-len 65536 \
    --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}'
