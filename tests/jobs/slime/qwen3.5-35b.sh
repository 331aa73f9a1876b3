#!/bin/bash
#moeplan cluster=h100
# The model's sizes in the script itself; generation on devices of its own.
MODEL_ARGS=(
   --spec "slime_plugins.models.qwen3_5" "get_qwen3_5_spec"
   --disable-bias-linear --qk-layernorm --group-query-attention
   --num-attention-heads 16 --num-query-groups 2 --kv-channels 256
   --num-layers 40 --hidden-size 2048 --normalization RMSNorm
   --position-embedding-type rope --swiglu --untie-embeddings-and-output-weights
   --vocab-size 248320
   --moe-ffn-hidden-size 512 --moe-shared-expert-intermediate-size 512
   --moe-router-score-function softmax --moe-token-dispatcher-type alltoall
   --moe-router-topk 8 --num-experts 256 --moe-grouped-gemm --moe-router-dtype fp32
   --attention-output-gate --moe-shared-expert-gate
   --linear-attention-type gated_delta_net --linear-attention-freq 4
   --linear-num-key-heads 16 --linear-num-value-heads 32
)
python3 train_async.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --rollout-num-gpus 16 \
   --hf-checkpoint /models/Qwen3.5-35B-A3B --rollout-batch-size 16 --n-samples-per-prompt 8 \
   --rollout-max-prompt-len 1024 --rollout-max-response-len 7168 --global-batch-size 128 \
   --micro-batch-size 1 --tensor-model-parallel-size 2 --sequence-parallel \
   --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 \
   --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
   ${MODEL_ARGS[@]}
