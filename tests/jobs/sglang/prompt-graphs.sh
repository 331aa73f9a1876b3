# no graphs of prompts, graphs of at most 64 answers: by the configuration over the flag
python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --cuda-graph-max-bs 128 \
    --cuda-graph-config '{"decode": {"max_bs": 64}, "prefill": {"backend": "disabled"}}'
