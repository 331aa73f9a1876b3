vllm serve acme/unheard-of -tp 8
