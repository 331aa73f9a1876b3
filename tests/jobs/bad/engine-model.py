import sys

from vllm import LLM

llm = LLM(model=sys.argv[1], tensor_parallel_size=2)
