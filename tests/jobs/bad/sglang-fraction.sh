#moeplan cluster=h200-8x1
python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 8 --mem-fraction-static 0.0
