# TensorRT-LLM's API: configurations by name, a draft by the model's own module.
from tensorrt_llm import LLM
from tensorrt_llm.llmapi import KvCacheConfig, MoeConfig, MTPDecodingConfig

cache = KvCacheConfig(free_gpu_memory_fraction=0.75, dtype="fp8", enable_block_reuse=False)

llm = LLM(
    model="nvidia/DeepSeek-R1-FP4",
    tensor_parallel_size=8,
    moe_expert_parallel_size=8,
    enable_attention_dp=True,
    max_batch_size=128,
    max_num_tokens=4096,
    max_seq_len=8192,
    kv_cache_config=cache,
    moe_config=MoeConfig(backend="CUTLASS"),
    speculative_config=MTPDecodingConfig(num_nextn_predict_layers=1),
)
