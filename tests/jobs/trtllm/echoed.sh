#!/bin/bash
# Options that echo writes, line by line.
docker run --gpus all nvcr.io/nvidia/tensorrt-llm/release:1.2.0 sh -c "echo -e 'enable_attention_dp: true\nkv_cache_config:\n  free_gpu_memory_fraction: 0.85' > options.yaml && \
  echo '  dtype: fp8' >> options.yaml && \
  trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 8 --max_batch_size 32 \
    --extra_llm_api_options options.yaml"
