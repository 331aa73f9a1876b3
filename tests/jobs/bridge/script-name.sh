#!/bin/bash
#moeplan cluster=h100
# The model in the script's name; what stands behind a flag that is not known is still read.
torchrun --nnodes 2 --nproc_per_node=8 examples/recipes/nemotron_3/pretrain_nemotron_3_nano.py \
  --log_level info train.global_batch_size=512 train.micro_batch_size=1 model.seq_length=8192 \
  model.tensor_model_parallel_size=2 model.expert_model_parallel_size=8
