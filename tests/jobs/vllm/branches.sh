# What the script itself decides: a node or two, a draft, where the model's name stands.
LWS_GROUP_SIZE=2
DP_SIZE_LOCAL=8
ENABLE_DRAFT=0
export MAX_TOKENS=$(( ${MAX_TOKENS_PER_NODE:-128} * LWS_GROUP_SIZE ))
if [ "${LWS_GROUP_SIZE:-1}" -gt 1 ]; then
  GPU_MEM_UTIL=0.80
else
  GPU_MEM_UTIL=0.95
fi
KV_CACHE_DTYPE_ARGS="--kv-cache-dtype fp8"
MAX_SEQS=${MAX_TOKENS}
if [ "${ENABLE_DRAFT:-0}" = "1" ] && [ "${LWS_GROUP_SIZE:-1}" -gt 1 ]; then
  MAX_SEQS=$(( MAX_TOKENS / 4 ))
  KV_CACHE_DTYPE_ARGS=""
fi
case "${MODE:-decode}" in
  prefill) BACKEND=deepep_high_throughput ;;
  decode|both) BACKEND=deepep_low_latency ;;
esac
exec vllm serve $KV_CACHE_DTYPE_ARGS zai-org/GLM-5.2-FP8 \
  --gpu-memory-utilization $GPU_MEM_UTIL --max-model-len 131072 --enable-expert-parallel \
  --max-num-seqs ${MAX_SEQS} --data-parallel-size $((LWS_GROUP_SIZE * DP_SIZE_LOCAL)) \
  --all2all-backend $BACKEND
