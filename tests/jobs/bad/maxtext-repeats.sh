python3 -m MaxText.train MaxText/configs/base.yml model_name=deepseek3-671b \
    compile_topology=v5p-256 ici_pipeline_parallelism=4 num_pipeline_repeats=1e300
