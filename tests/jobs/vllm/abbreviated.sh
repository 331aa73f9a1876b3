#moeplan cluster=h20
# --enable-expert-paralle is what stands in a published command, and is taken.
python3 -m vllm.entrypoints.openai.api_server --model /data/models/Qwen3-VL-235B-A22B-Instruct/ \
  --tensor_parallel_size=8 --gpu-memory-utilization 0.70 --mm-encoder-tp-mode data \
  --enable-expert-paralle --dtype bfloat16 --quantization None --max_model_len 8192
