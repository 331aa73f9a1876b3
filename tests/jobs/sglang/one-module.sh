# of three modules the first alone
python -m sglang.launch_server --model-path MiniMaxAI/MiniMax-M2.5 --tp 8 --ep 8 \
    --speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 \
    --speculative-num-draft-tokens 4 --context-length 65536
