#moeplan cluster=h100
uv run examples/run_grpo_math.py --config configs/ours.yaml cluster.num_nodes=2
