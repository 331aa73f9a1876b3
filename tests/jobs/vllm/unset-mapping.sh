# A mapping that only the shell knows is left out, and said to be.
vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 --speculative-config "$SPECULATION"
