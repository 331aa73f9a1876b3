# A pool and graphs of given sizes.
vllm serve openai/gpt-oss-20b --max-num-seqs 128 --max-model-len 8192 --kv-cache-memory-bytes 20g \
  --num-gpu-blocks-override 4000 --compilation-config '{"cudagraph_capture_sizes": [1, 8, 64, 32]}'
