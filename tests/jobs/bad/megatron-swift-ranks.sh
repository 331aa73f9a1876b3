#moeplan cluster=h100
megatron sft --model Qwen/Qwen3-30B-A3B --expert_model_parallel_size 8 --max_length 2048
