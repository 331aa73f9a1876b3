serve() { vllm serve $1 --tensor-parallel-size 2; }
serve Qwen/Qwen3-8B
serve Qwen/Qwen3-30B-A3B
