# AITER attends, and the fraction stays as it is given.
export SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION=1
python3 -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 8 \
  --attention-backend aiter --mem-fraction-static 0.8
#moeplan cluster=mi300x-8x1
