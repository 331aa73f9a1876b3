# layers of the checkpoint that draft a block
vllm serve deepseek-ai/DeepSeek-V4.1-Flash --tensor-parallel-size 8 --max-model-len 65536 \
  --engram-config '{"cpu_offload": true}' \
  --speculative-config '{"method": "dspark", "num_speculative_tokens": 5}'
