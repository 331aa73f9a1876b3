#moeplan cluster=h100-8x1
python -m sglang.launch_server --model Qwen/Qwen3-30B-A3B --max-running-requests 0
