# A checkpoint of a known shape that reads longer sequences; as long as the cache holds
vllm serve Qwen/Qwen3-30B-A3B-Instruct-2507-FP8 --max-model-len -1
