uv run examples/run_grpo.py --config "$CONFIG" grpo.max_num_steps=10
