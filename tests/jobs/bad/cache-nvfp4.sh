#moeplan cluster=h200-8x1
vllm serve openai/gpt-oss-120b --tensor-parallel-size 2 --kv-cache-dtype nvfp4
