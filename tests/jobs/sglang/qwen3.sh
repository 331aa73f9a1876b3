#moeplan cluster=h200
python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 8 --ep 8 \
  --mem-fraction-static 0.8 --max-running-requests 128 --context-length 32768
