# Prompts in one go: the class has a larger batch than the server.
import argparse
import os

from vllm import LLM, SamplingParams
from vllm.config import CompilationConfig

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="Qwen/Qwen3-235B-A22B-FP8")
parser.add_argument("--tp", type=int, default=4)
args = parser.parse_args()

draft = {"method": "ngram", "num_speculative_tokens": 3}

if __name__ == "__main__":
    llm = LLM(
        args.model,
        tensor_parallel_size=args.tp,
        enable_expert_parallel=True,
        max_model_len=int(os.environ.get("LENGTH", 16384)),
        gpu_memory_utilization=0.85,
        speculative_config=draft,
        compilation_config=CompilationConfig(cudagraph_mode="FULL_DECODE_ONLY"),
        enforce_eager=False,
    )
    print(llm.generate(["Hello"], SamplingParams(max_tokens=64)))
