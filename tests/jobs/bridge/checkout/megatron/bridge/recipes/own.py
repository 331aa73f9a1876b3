# A module of recipes as a checkout has them: a common beginning, a helper, two configurations.
import torch
from megatron.bridge import AutoBridge
from megatron.bridge.peft.lora import LoRA
from megatron.bridge.recipes.shared import SEQUENCE as LENGTH
from megatron.bridge.recipes.shared import begin, lay_out
from megatron.bridge.training.mixed_precision import bf16_with_fp8_current_scaling_mixed


def dense_8b_config():
    cfg = begin("meta-llama/Llama-3.1-8B")
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.seq_length = LENGTH // 2
    cfg.train.micro_batch_size = 4
    return cfg


def precision():
    made = bf16_with_fp8_current_scaling_mixed()
    made.grad_reduce_in_fp32 = False
    return made


def deepseek_config(adapters: str | None = "lora", stages: int = 8):
    cfg = begin("deepseek-ai/DeepSeek-V3")
    cfg.model.pipeline_model_parallel_size = stages
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.model.expert_model_parallel_size = max(1, 256 // 8)
    cfg.model.mtp_num_layers = 1
    cfg.mixed_precision = precision()
    if adapters is not None and adapters.lower() in ["lora"]:
        adapter = LoRA(dim=32)
        cfg.peft = adapter
        adapter.dim = 16
    elif adapters == "none":
        cfg.peft = None
    if cfg.model.context_parallel_size > 1:
        cfg.train.micro_batch_size = 2
    cfg.optimizer.exp_avg_dtype = cfg.optimizer.exp_avg_sq_dtype = torch.bfloat16
    lay_out(cfg.model)
    return cfg
