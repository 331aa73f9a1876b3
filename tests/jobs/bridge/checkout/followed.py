# A recipe of a module beside the script, followed through its functions: parts that functions
# make, conditions on what is known, a layout looked up in a table.
#moeplan cluster=h100-8x32
from megatron.bridge.training.pretrain import pretrain
from megatron.bridge.recipes.own import deepseek_config

config = deepseek_config(stages=8)
config.train.global_batch_size = 2048
pretrain(config, None)
