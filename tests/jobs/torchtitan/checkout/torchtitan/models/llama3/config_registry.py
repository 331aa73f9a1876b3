from torchtitan.config import TrainingConfig
from torchtitan.trainer import Trainer

from . import model_registry


def own_8b() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("8B"),
        training=TrainingConfig(local_batch_size=1, seq_len=8192),
        activation_checkpoint=None,
    )
