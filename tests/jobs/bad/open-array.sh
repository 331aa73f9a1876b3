ARGS=(--tp 8
python -m sglang.launch_server --model-path x