# older words, with a draft and so 48 sequences
python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --enable-piecewise-cuda-graph \
    --piecewise-cuda-graph-max-tokens 4096 --disable-decode-cuda-graph \
    --speculative-algorithm NGRAM --speculative-num-draft-tokens 8
