# what is read of the environment, what leaves all as it is, and what is warned of
export SGLANG_SYMM_MEM_PREALLOC_GB_SIZE=8 SGLANG_ENABLE_JIT_DEEPGEMM=1
export SGLANG_DEEPGEMM_STANDARD_LAYOUT=compact
python -m sglang.launch_server --model-path Qwen/Qwen3-VL-30B-A3B-Instruct --tp 4 \
    --enable-symm-mem --language-model-only --enable-prefill-cp
