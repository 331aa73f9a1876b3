#moeplan cluster=h200
python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3.2 --tp 8 --kv-cache-dtype fp8_e5m2
