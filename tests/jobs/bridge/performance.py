# A performance recipe: its precision by a script's word, and functions that set more of it.
#moeplan cluster=b200-8x1
from megatron.bridge.perf_recipes._common import _benchmark_common, _perf_precision
from megatron.bridge.recipes.qwen.qwen3_moe import qwen3_30b_a3b_pretrain_config


def qwen3_30b_a3b_own_config():
    cfg = qwen3_30b_a3b_pretrain_config()
    cfg.mixed_precision = _perf_precision("fp8_mx")
    cfg.model.recompute_granularity = None
    cfg.model.expert_model_parallel_size = 8
    cfg.train.micro_batch_size = 4
    cfg.train.global_batch_size = 512
    _benchmark_common(cfg)
    cfg.env_vars = {
        "CUDA_DEVICE_MAX_CONNECTIONS": 32,
    }
    return cfg
