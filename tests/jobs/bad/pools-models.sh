#moeplan cluster=h200
vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_role":"kv_producer"}' &
vllm serve Qwen/Qwen3-14B --kv-transfer-config '{"kv_role":"kv_consumer"}' &
