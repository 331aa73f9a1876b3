#!/usr/bin/bash
# The script that starts torchtitan, with a file and two overrides.
#moeplan cluster=b200
NGPU=8 LOG_RANK=0 CONFIG_FILE="deepseek-16b.toml" ./run_train.sh \
    --parallelism.tensor_parallel_degree=2 --activation_checkpoint.mode full
