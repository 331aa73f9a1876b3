# LLM( stands in a comment alone
from vllm import SamplingParams

params = SamplingParams(max_tokens=64)
