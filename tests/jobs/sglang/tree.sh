# A draft model that proposes trees: five deep, four branches, seven of their tokens verified.
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B-Instruct --tp 4 \
  --max-running-requests 32 --context-length 8192 --speculative-algorithm STANDALONE \
  --speculative-draft-model-path meta-llama/Llama-3.1-8B-Instruct --speculative-num-steps 5 \
  --speculative-eagle-topk 4 --speculative-num-draft-tokens 8
