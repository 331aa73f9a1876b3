# A recipe written out: its parts by functions with defaults, adapters by a condition.
#moeplan cluster=h100
import lightning.pytorch as pl
import nemo_run as run
import torch
from nemo import lightning as nl
from nemo.collections import llm
from nemo.collections.llm.gpt.model.qwen3 import Qwen3Config30B_A3B, Qwen3Model
from nemo.collections.llm.peft import LoRA
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_mixed


def model() -> run.Config[pl.LightningModule]:
    return run.Config(Qwen3Model, config=run.Config(Qwen3Config30B_A3B))


def trainer(tp: int = 4, ep: int = 4, num_nodes: int = 1) -> run.Config[nl.Trainer]:
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tp,
        expert_model_parallel_size=ep,
        expert_tensor_parallel_size=1,
        sequence_parallel=tp > 1,
        pipeline_dtype=torch.bfloat16,
    )
    return run.Config(
        nl.Trainer, devices=8, num_nodes=num_nodes, plugins=bf16_mixed(), strategy=strategy
    )


def tuned_recipe(peft: str | None = "lora", micro_batch_size: int = 1) -> run.Partial:
    recipe = run.Partial(
        llm.finetune,
        model=model(),
        trainer=trainer(ep=8, num_nodes=2),
        data=run.Config(
            llm.SquadDataModule, seq_length=2048, global_batch_size=128, micro_batch_size=micro_batch_size
        ),
    )
    if peft is None:
        recipe.trainer.strategy.pipeline_model_parallel_size = 2
    elif peft.lower() in ["lora", "dora"]:
        recipe.peft = run.Config(LoRA)
        recipe.peft.dim = 8
        recipe.peft.target_modules = ["linear_qkv", "linear_proj"]
    return recipe
