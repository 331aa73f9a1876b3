#!/bin/bash
MODEL=${1:-Qwen/Qwen3-235B-A22B-FP8}
exec python -m sglang.launch_server --model "$MODEL" --tp 8 --ep-size 8 --enable-ep-moe --mem-fraction-static 0.8 \
 --speculative-algorithm EAGLE3 --speculative-draft-model-path foo/bar --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 \
 --chunked-prefill-size -1 --max-prefill-tokens 32768 --kv-cache-dtype fp8_e5m2 --attention-backend fa3 --enable-mixed-chunk --cuda-graph-max-bs 128
