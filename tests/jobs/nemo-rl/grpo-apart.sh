#!/bin/bash
#moeplan cluster=h200
# Generation on two nodes of its own; the command goes to Ray's batch script.
NUM_ACTOR_NODES=6
COMMAND="uv run ./examples/run_grpo_math.py --config grpo-automodel.yaml cluster.num_nodes=$NUM_ACTOR_NODES policy.generation.colocated.enabled=false policy.generation.colocated.resources.num_nodes=2 policy.generation.colocated.resources.gpus_per_node=8 ++policy.dtensor_cfg.moe_parallelizer.reshard_after_forward=true" \
CONTAINER=nemo-rl.sqsh \
MOUNTS="$PWD:$PWD" \
sbatch --nodes=$NUM_ACTOR_NODES --account=acct --job-name=grpo --partition=batch --time=4:0:0 --gres=gpu:8 ray.sub
