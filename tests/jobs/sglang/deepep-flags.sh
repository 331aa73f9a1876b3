#moeplan cluster=h200
# Flags of an older release, a mode that is forced, two-batch overlap.
sglang serve --model-path moonshotai/Kimi-K2-Instruct --tp-size 32 --dp-size 4 \
  --enable-dp-attention --enable-deepep-moe --deepep-mode normal --enable-two-batch-overlap \
  --moe-dense-tp-size 1 --nnodes 4 --chunked-prefill-size -1 --max-running-requests 1024 --context-length 65536 \
  --speculative-algorithm NEXTN --speculative-num-draft-tokens 4
