#moeplan cluster=h200
cat > config.yml <<EOF
cuda_graph_config: null
kv_cache_config: {free_gpu_memory_fraction: 0.8}
EOF
trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 2 --config config.yml
