#moeplan cluster=h200
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --disaggregation-mode prefill &
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2 --disaggregation-mode decode &
python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 4 --disaggregation-mode decode &
