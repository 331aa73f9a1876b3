#!/bin/bash
# AMD's MaxText with one shard of experts: the flag of DeepEP changes nothing then.
#moeplan cluster=mi355x-8x8
python3 -m MaxText.train src/MaxText/configs/base.yml model_name=deepseek3-671b \
    use_turbo_deepep_dispatch=true use_turbo_grouped_gemm=true sparse_matmul=true megablox=false \
    ici_fsdp_parallelism=8 dcn_fsdp_parallelism=8 num_slices=8 per_device_batch_size=4
