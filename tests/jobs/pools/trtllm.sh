#moeplan cluster=b200
# The servers of trtllm.yaml by launches of their own.
cat > context.yaml <<'YAML'
cuda_graph_config: null
cache_transceiver_config: {backend: UCX, max_tokens_in_buffer: 8320}
YAML
cat > generation.yaml <<'YAML'
enable_attention_dp: true
kv_cache_config: {dtype: fp8}
cache_transceiver_config: {backend: UCX, max_tokens_in_buffer: 8320}
YAML
for port in 8001; do echo $port; done
trtllm-serve nvidia/DeepSeek-R1-FP4 --port 8001 --server_role CONTEXT --tp_size 4 --ep_size 4 \
  --max_num_tokens 16640 --max_seq_len 8320 --max_batch_size 16 \
  --kv_cache_free_gpu_memory_fraction 0.8 --extra_llm_api_options context.yaml &
trtllm-serve nvidia/DeepSeek-R1-FP4 --port 8002 --server_role CONTEXT --tp_size 4 --ep_size 4 \
  --max_num_tokens 16640 --max_seq_len 8320 --max_batch_size 16 \
  --kv_cache_free_gpu_memory_fraction 0.8 --extra_llm_api_options context.yaml &
trtllm-serve nvidia/DeepSeek-R1-FP4 --port 8003 --server_role GENERATION --tp_size 8 \
  --ep_size 8 --max_num_tokens 256 --max_seq_len 9344 --max_batch_size 128 \
  --kv_cache_free_gpu_memory_fraction 0.8 --extra_llm_api_options generation.yaml &
