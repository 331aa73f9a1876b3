# as many tokens as prediction modules; what is no mapping is said
vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 8 --speculative-config '{"method": "mtp"}' \
  --max-model-len 200000 --hf-overrides '{"rope_parameters": {"rope_type": "yarn", "factor": 64, "original_max_position_embeddings": 4096}}' \
  --eplb-config none
