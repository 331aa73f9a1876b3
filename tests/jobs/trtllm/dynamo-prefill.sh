# A worker for prompts alone; its text of overrides holds against everything.
python3 -m dynamo.trtllm --model-path nvidia/DeepSeek-R1-FP4 --max-batch-size 8 \
  --max-num-tokens 8192 --max-seq-len 2048 --disaggregation-mode prefill \
  --tensor-parallel-size 8 --expert-parallel-size 8 --free-gpu-memory-fraction 0.6 \
  --override-engine-args '{"tensor_parallel_size": 4, "moe_expert_parallel_size": 4, "kv_cache_config": {"dtype": "fp8"}, "cache_transceiver_config": {"max_tokens_in_buffer": 8448}}'
#moeplan cluster=b200
