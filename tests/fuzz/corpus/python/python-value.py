#moeplan cluster=h100-8x1
import sys
from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config
cfg = qwen3_30b_a3b_pretrain_config()
cfg.model.expert_model_parallel_size = int(sys.argv[1])
