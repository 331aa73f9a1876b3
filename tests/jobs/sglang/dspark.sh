# layers of the checkpoint that draft a block, which is verified with a token more
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V4.1-Flash --tp 8 \
    --speculative-algorithm DSPARK --speculative-dspark-block-size 5 --speculative-num-steps 1 \
    --context-length 65536
