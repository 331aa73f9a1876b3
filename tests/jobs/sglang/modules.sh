# a module for each step of the draft
python -m sglang.launch_server --model-path XiaomiMiMo/MiMo-V2-Flash --tp 8 \
    --speculative-algorithm EAGLE --speculative-num-steps 2 --speculative-eagle-topk 1 \
    --speculative-num-draft-tokens 3 --context-length 65536
