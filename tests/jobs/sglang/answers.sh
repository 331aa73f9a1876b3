# a decode server whose ranks share out the latents
python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dcp-size 8 \
    --disaggregation-mode decode --max-running-requests 128 --cuda-graph-bs 1 2 4 8 96
