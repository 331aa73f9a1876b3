# How many nodes there are only the batch system knows: the cluster that is given says it.
NNODES=$nnodes NODE_RANK=$RANK NPROC_PER_NODE=8 swift sft \
    --model Qwen/Qwen3-32B --tuner_type full --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 --max_length 2048 --deepspeed zero3
