# a model by its sizes, as slime's scripts/models write it
MODEL_ARGS=(
   --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32
   --group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm
   --normalization RMSNorm --swiglu --disable-bias-linear --vocab-size 151936
   --untie-embeddings-and-output-weights --moe-ffn-hidden-size 768 --moe-router-topk 8
   --num-experts 128 --moe-grouped-gemm --moe-token-dispatcher-type alltoall
)
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint /models/Qwen3-30B-A3B \
   ${MODEL_ARGS[@]} --expert-model-parallel-size 8 --freeze-params-name-list router \
   --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 8192 \
   --global-batch-size 256 --use-dynamic-batch-size --max-tokens-per-gpu 8192
