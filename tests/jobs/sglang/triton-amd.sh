# Kernels of Triton attend: no memory is taken off the fraction for AITER's.
SGLANG_USE_AITER=1 python3 -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B \
  --tp 8 --attention-backend triton --mem-fraction-static 0.85
#moeplan cluster=mi300x-8x1
