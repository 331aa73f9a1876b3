"""What several recipes share."""
from megatron.bridge import AutoBridge
from megatron.bridge.training.config import ConfigContainer, TrainingConfig

SEQUENCE = 4096


def begin(path: str) -> ConfigContainer:
    made = ConfigContainer(
        model=None,
        train=TrainingConfig(micro_batch_size=1, global_batch_size=1024),
        mixed_precision="bf16_mixed",
    )
    made.model = AutoBridge.from_hf_pretrained(path).to_megatron_provider(load_weights=False)
    made.model.seq_length = SEQUENCE
    return made


def lay_out(model, layout=None):
    if layout is not None:
        model.pipeline_model_parallel_layout = layout
        return
    last = ["mtp"] * (getattr(model, "mtp_num_layers", 0) or 0) + ["loss"]
    pp = model.pipeline_model_parallel_size or 1
    vp = model.virtual_pipeline_model_parallel_size or 1
    known = {
        (1, 1): None,
        (8, 1): [["embedding"] + ["decoder"] * 8] + [["decoder"] * 8] * 6 + [["decoder"] * 5 + last],
    }
    if (pp, vp) in known:
        model.pipeline_model_parallel_layout = known[(pp, vp)]
