from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config
cfg = qwen3_30b_a3b_pretrain_config("open)
