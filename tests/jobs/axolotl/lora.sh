#!/bin/bash
#moeplan cluster=h200
export WANDB_MODE=offline
CUDA_VISIBLE_DEVICES=0,1,2,3 axolotl train lora.yml --micro-batch-size 4 --sequence_len=2048
