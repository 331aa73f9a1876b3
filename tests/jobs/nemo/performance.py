# What the performance scripts' helper makes of a recipe, in a function that is handed over.
#moeplan cluster=h200
import nemo_run as run
from nemo.collections import llm
from scripts.performance.helpers import set_primary_perf_configs


def trial(profile: bool = False) -> run.Partial:
    made = llm.qwen3_30b_a3b.pretrain_recipe(performance_mode=True)
    nodes = 4
    tp_size = 2
    made = set_primary_perf_configs(
        made,
        "pre_train",
        num_nodes=nodes,
        num_gpus_per_node=8,
        mbs=1,
        gbs=256,
        max_steps=10,
        tp_size=tp_size,
        pp_size=2,
        cp_size=1,
        vp_size=None,
        ep_size=8,
        etp_size=1,
        compute_dtype="fp8",
        fp8_recipe="cs",
        recompute_layers=3,
    )
    made.model.config.seq_length = 8192
    made.data.seq_length = 8192
    return made


if __name__ == "__main__":
    run.cli.main(llm.pretrain, default_factory=trial)
