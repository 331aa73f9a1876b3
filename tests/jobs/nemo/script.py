# A script that changes what a recipe of the library gives; the recipe's own text is not there.
#moeplan cluster=h100
import nemo_run as run
from nemo.collections import llm


def configure(nodes=1):
    recipe = llm.mixtral_8x7b.pretrain_recipe(name="trial", num_nodes=nodes, num_gpus_per_node=8)
    recipe.trainer.strategy.tensor_model_parallel_size = 1
    recipe.trainer.strategy.pipeline_model_parallel_size = 4
    recipe.trainer.strategy.expert_model_parallel_size = 8
    recipe.data.micro_batch_size = 1
    recipe.data.global_batch_size = 256
    recipe.data.seq_length = 4096
    recipe.model.config.recompute_granularity = "full"
    recipe.trainer.plugins.grad_reduce_in_fp32 = False
    return recipe


if __name__ == "__main__":
    run.run(configure(nodes=4), executor=run.LocalExecutor())
