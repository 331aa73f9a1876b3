#!/bin/bash
#moeplan cluster=h100
torchrun --nproc_per_node 1 train.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True \
  --torch_dtype bfloat16 --optim adalomo --per_device_train_batch_size 1 --max_length 2048
