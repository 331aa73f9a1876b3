#!/bin/bash
# serve.sh MODEL NODES [FLAGS]
#moeplan job.2=2
MODEL=$1
NODES=$2
RANKS=$(( NODES * ${GPUS:-8} ))
LENGTH=$(cat length.txt)
vllm serve "$MODEL" --data-parallel-size $RANKS --enable-expert-parallel \
  --max-model-len $LENGTH "${@:-}"
