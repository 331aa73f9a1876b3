#!/bin/bash
#moeplan cluster=h200-8x1
# Stages of different lengths, a pool of 20 GiB at most, and states in 16 bits.
cat > options.yaml <<'YAML'
pp_partition: [20, 28]
kv_cache_config:
  max_gpu_total_bytes: 21474836480
  mamba_ssm_cache_dtype: bfloat16
YAML
trtllm-serve Qwen/Qwen3-Next-80B-A3B-Instruct --tp_size 4 --pp_size 2 \
  --extra_llm_api_options options.yaml
