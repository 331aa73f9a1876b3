# Parts of a configuration by names of their own, and several fields at once.
#moeplan cluster=h100-8x16
from megatron.bridge.recipes.qwen.qwen3_moe import qwen3_235b_a22b_pretrain_config as recipe
from megatron.bridge.training.pretrain import pretrain


def build(tp: int = 2):
    cfg = recipe()
    m, t = cfg.model, cfg.train
    m.tensor_model_parallel_size = 2
    m.pipeline_model_parallel_size = 8
    m.context_parallel_size = 1
    t.global_batch_size, t.micro_batch_size = 1024, 1
    return cfg


if __name__ == "__main__":
    pretrain(build(), None)
