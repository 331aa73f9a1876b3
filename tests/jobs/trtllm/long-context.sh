trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 2 --max_seq_len 100000
