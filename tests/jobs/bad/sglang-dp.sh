#moeplan cluster=h100
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 3 --enable-dp-attention
