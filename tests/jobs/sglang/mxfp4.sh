# gpt-oss on Blackwell, its experts by TRT-LLM's generated kernels.
python3 -m sglang.launch_server --model openai/gpt-oss-120b --tp 4 \
  --moe-runner-backend flashinfer_mxfp4 --mem-fraction-static 0.9
