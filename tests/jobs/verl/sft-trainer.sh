#!/bin/bash
# verl's FSDP trainer, whose settings are its own; the host keeps the shards.
#moeplan cluster=h100
set -x
nproc_per_node=8
torchrun --standalone --nnodes=1 --nproc_per_node=$nproc_per_node \
    -m verl.trainer.fsdp_sft_trainer \
    data.train_files=$HOME/data/train.parquet \
    data.micro_batch_size_per_gpu=1 \
    data.max_length=4096 data.truncation=right \
    model.partial_pretrain=allenai/OLMoE-1B-7B-0924 \
    model.fsdp_config.cpu_offload=True model.fsdp_config.offload_params=True \
    model.strategy=fsdp use_remove_padding=True ulysses_sequence_parallel_size=2 \
    optim.lr=1e-5 trainer.project_name=sft trainer.total_epochs=1
