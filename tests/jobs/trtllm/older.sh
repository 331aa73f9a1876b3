#moeplan cluster=h200
# Settings as they stood below pytorch_backend_config, until 0.20.
cat >./extra-llm-api-config.yml <<EOF
enable_attention_dp: true
pytorch_backend_config:
  enable_overlap_scheduler: true
  use_cuda_graph: true
  cuda_graph_padding_enabled: true
  cuda_graph_batch_sizes: [1, 64, 128]
  kv_cache_dtype: fp8
EOF
trtllm-serve deepseek-ai/DeepSeek-R1 --backend pytorch --max_batch_size 161 \
  --max_num_tokens 1160 --tp_size 8 --ep_size 8 --kv_cache_free_gpu_memory_fraction 0.95 \
  --extra_llm_api_options ./extra-llm-api-config.yml
