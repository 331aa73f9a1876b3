#moeplan cluster=h100-8x1
from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config, qwen3_30b_a3b_sft_config
cfg = qwen3_30b_a3b_pretrain_config()
other = qwen3_30b_a3b_sft_config()
