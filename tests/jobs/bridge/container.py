# A configuration written out, its model by its name on the hub, layers of a pipeline as lists.
#moeplan cluster=gb200-4x32
from megatron.bridge import AutoBridge
from megatron.bridge.training.config import (
    ConfigContainer,
    DistributedDataParallelConfig,
    OptimizerConfig,
    TrainingConfig,
)

model = AutoBridge.from_hf_pretrained("deepseek-ai/DeepSeek-V3").to_megatron_provider(load_weights=False)
cfg = ConfigContainer(
    train=TrainingConfig(micro_batch_size=1, global_batch_size=2048, train_iters=100),
    optimizer=OptimizerConfig(optimizer="adam", bf16=True, lr=1e-4),
    ddp=DistributedDataParallelConfig(use_distributed_optimizer=True, grad_reduce_in_fp32=True),
    mixed_precision="bf16_mixed",
)
cfg.model = AutoBridge.from_hf_pretrained("deepseek-ai/DeepSeek-V3").to_megatron_provider(load_weights=False)
cfg.model.mtp_num_layers = None
cfg.model.pipeline_model_parallel_size = 4
cfg.model.virtual_pipeline_model_parallel_size = 4
cfg.model.expert_model_parallel_size = 32
cfg.model.pipeline_model_parallel_layout = (
    [["embedding"] + ["decoder"] * 4] + [["decoder"] * 4] * 14 + [["decoder"] + ["loss"]]
)
cfg.model.seq_length = 4096
cfg.model.moe_token_dispatcher_type = "flex"
cfg.model.moe_flex_dispatcher_backend = "hybridep"
cfg.model.recompute_granularity = None
