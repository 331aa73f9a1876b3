#moeplan cluster=h200
# One batch whose shared experts stand beside its own exchanges.
sglang serve --model-path deepseek-ai/DeepSeek-V3 --tp-size 16 --dp-size 16 \
  --enable-dp-attention --moe-a2a-backend deepep --deepep-mode low_latency \
  --enable-single-batch-overlap --nnodes 2 --moe-dense-tp-size 1 --max-running-requests 2048 \
  --disaggregation-mode decode --context-length 8192
