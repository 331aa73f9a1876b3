# Two engines behind one router, each with its experts over its own two ranks.
python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp 2 --dp 2 --context-length 32768
