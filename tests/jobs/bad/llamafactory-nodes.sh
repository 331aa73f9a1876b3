#moeplan cluster=h100
NNODES=all NPROC_PER_NODE=8 llamafactory-cli train lora.yaml
