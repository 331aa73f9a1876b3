python3 -m MaxText.train MaxText/configs/base.yml global_parameter_scale=48
