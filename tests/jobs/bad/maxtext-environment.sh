#moeplan cluster=h100
M_CAPACITY_FACTOR=1 python -m MaxText.train base.yml capacity_factor=2 model_name=mixtral-8x7b
