python examples/start_rlvr_pipeline.py --config_path qwen3-30BA3B --config_name rlvr
