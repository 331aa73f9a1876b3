#!/bin/bash
#moeplan cluster=h100
# The sharding's file as a text, the module behind torchrun.
torchrun --nnodes 1 --nproc_per_node 8 -m swift.cli.sft \
    --model /data/models/Qwen3-30B-A3B --tuner_type full --max_length 4096 \
    --fsdp '{"fsdp": "full_shard auto_wrap offload", "fsdp_config": {"fsdp_version": 2, "reshard_after_forward": false, "activation_checkpointing": true}}' \
    --ep_size 8 --gradient_accumulation_steps 1
