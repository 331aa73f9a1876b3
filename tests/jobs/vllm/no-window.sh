vllm serve mistralai/Mistral-7B-v0.1 --disable-sliding-window
