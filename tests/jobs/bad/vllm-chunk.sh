#moeplan cluster=h200-8x1
#moeplan stack.version=0.11.0
export VLLM_FUSED_MOE_CHUNK_SIZE=0
vllm serve Qwen/Qwen3-30B-A3B
