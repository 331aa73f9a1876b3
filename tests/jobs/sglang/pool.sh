# The most that the pool holds, and graphs of given sizes.
python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --max-running-requests 128 \
  --context-length 8192 --max-total-tokens 200000 --cuda-graph-bs 1 8 96 64 --cuda-graph-max-bs 160
