# Arguments of an engine, by keywords that stand apart.
from vllm import AsyncEngineArgs, AsyncLLMEngine

options = dict(max_num_seqs=128, kv_cache_dtype="fp8")
engine = AsyncLLMEngine.from_engine_args(
    AsyncEngineArgs(model="openai/gpt-oss-120b", tensor_parallel_size=2, **options)
)
