#!/bin/bash
#moeplan cluster=h200
# FSDP2 by the file that ms-swift brings along; one device a rank, 16 sequences unless told.
NPROC_PER_NODE=4 swift sft --model deepseek-ai/DeepSeek-V2-Lite --tuner_type full \
    --per_device_train_batch_size 2 --max_length 2048 --fsdp fsdp2 --use_cce true \
    --attn_impl eager --optim adamw_bnb_8bit --gradient_checkpointing false
