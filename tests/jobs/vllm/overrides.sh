# A shorter model with longer positions, whose cache eight ranks share out.
#moeplan cluster=h200-8x1
vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -dcp 8 --max-model-len 65536 \
  --hf-overrides '{"num_hidden_layers": 31, "rope_scaling": {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}}'
