echo "max-num-seqs: $SEQUENCES" > serve.yaml
vllm serve Qwen/Qwen3-8B --config serve.yaml
