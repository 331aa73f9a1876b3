# Four groups of whole experts, two ranks to each expert.
trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 4 --max_batch_size 128 \
  --max_num_tokens 2048 --max_seq_len 16384 --kv_cache_free_gpu_memory_fraction 0.85
