python3 -m MaxText.train MaxText/configs/base.yml model_name=deepseek3-671b \
    compile_topology=v5p-256 per_device_batch_size=0x10
