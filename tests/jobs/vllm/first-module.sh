# of three modules vLLM's class has the first alone, however many tokens it drafts
vllm serve XiaomiMiMo/MiMo-V2-Flash --tensor-parallel-size 8 --trust-remote-code \
    --max-model-len 65536 --speculative-config '{"method": "mtp", "num_speculative_tokens": 2}'
