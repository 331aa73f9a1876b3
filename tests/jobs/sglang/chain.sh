python3 -m sglang.launch_server --model-path zai-org/GLM-4.6-FP8 --tp 8 \
  --speculative-algorithm NEXTN --speculative-num-steps 2 --speculative-eagle-topk 1
