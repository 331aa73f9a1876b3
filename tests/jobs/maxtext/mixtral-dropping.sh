#!/bin/bash
# The dropping path with a capacity factor from the environment.
#moeplan cluster=tpu-v5p-4x4x4
export LIBTPU_INIT_ARGS="--xla_tpu_enable_async_collective_fusion=true"
M_CAPACITY_FACTOR=1.25 python3 src/MaxText/train.py MaxText/configs/base.yml \
    run_name=$(date +%F) model_name=mixtral-8x7b sparse_matmul=false remat_policy=save_qkv_proj \
    ici_tensor_parallelism=4
