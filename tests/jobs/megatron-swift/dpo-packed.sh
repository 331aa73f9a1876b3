#!/bin/bash
# ms-swift examples/megatron/rlhf/dpo/moe.sh, where 46 GiB of each of 8 devices are printed
#moeplan cluster=a800
PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' NPROC_PER_NODE=8 megatron rlhf --rlhf_type dpo \
    --model Qwen/Qwen3-30B-A3B-Instruct-2507 --packing true --tensor_model_parallel_size 4 \
    --expert_tensor_parallel_size 1 --expert_model_parallel_size 8 --moe_permute_fusion true \
    --moe_grouped_gemm true --micro_batch_size 1 --global_batch_size 4 --max_length 8192 \
    --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
    --cross_entropy_loss_fusion true --sequence_parallel true --attention_backend flash \
    --optimizer_cpu_offload true --use_precision_aware_optimizer true --optimizer_offload_fraction 1
