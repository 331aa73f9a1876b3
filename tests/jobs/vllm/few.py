# four sequences of 1,024 tokens have no more than 4,096
from vllm import LLM

llm = LLM("Qwen/Qwen3-30B-A3B", max_num_seqs=4, max_model_len=1024)
