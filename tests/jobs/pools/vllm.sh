#moeplan cluster=h100
# One that prefills and one that decodes, a device each, and a proxy in front of them.
CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8100 --max-model-len 8192 \
  --enforce-eager --gpu-memory-utilization 0.8 --max-num-batched-tokens 16384 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer"}' &
CUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen3-8B --port 8200 --max-model-len 8192 \
  --gpu-memory-utilization 0.9 --max-num-seqs 64 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_consumer"}' &
python3 disagg_proxy.py --prefill localhost:8100 --decode localhost:8200
