#moeplan cluster=h200-8x1
python3 -m sglang.launch_server --model moonshotai/Kimi-K2-Instruct --tp 8 --context-length 400000
