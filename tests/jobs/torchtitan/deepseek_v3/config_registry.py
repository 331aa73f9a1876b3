# Configurations of a module: one that changes another.
#moeplan cluster=h100-8x8
from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss
from torchtitan.components.quantization import Float8LinearConverter
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
from torchtitan.trainer import Trainer

from . import model_registry


def _plain() -> Trainer.Config:
    model_spec = model_registry("16B", attn_backend="flex")
    return Trainer.Config(
        loss=ChunkedLossWrapper.Config(num_chunks=4, loss_fn=CrossEntropyLoss.Config()),
        model_spec=model_spec,
        training=TrainingConfig(local_batch_size=2, seq_len=4096, disable_cuda_graphs=True),
        parallelism=ParallelismConfig(expert_parallel_degree=8),
        activation_checkpoint=SelectiveAC.Config(),
        compile=CompileConfig(enable=True, components=["loss"]),
    )


def larger() -> Trainer.Config:
    config = _plain()
    config.model_spec = model_registry(
        "671B", moe_comm_backend="hybridep", converters=[Float8LinearConverter.Config()]
    )
    config.parallelism.tensor_parallel_degree = 2
    config.parallelism.enable_sequence_parallel = False
    if config.compile.enable and "model" not in config.compile.components:
        config.activation_checkpoint = FullAC.Config()
    return config
