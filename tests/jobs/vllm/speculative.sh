#!/bin/sh
#moeplan cluster=h200
# Speculation, strided placement and a backend of later releases.
VLLM_USE_DEEP_GEMM=1 vllm serve zai-org/GLM-4.5-Air-FP8 \
  --tensor-parallel-size=4 --enable-expert-parallel --expert-placement-strategy round_robin \
  --speculative-config.method mtp --speculative-config.num_speculative_tokens 2 \
  --all2all-backend flashinfer_all2allv --max-num-seqs 64 --max-model-len 65536 \
  --cpu-offload-gb 0 --dtype auto
