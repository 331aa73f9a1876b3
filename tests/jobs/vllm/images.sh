# Whole images on each of four ranks
vllm serve Qwen/Qwen3-VL-30B-A3B-Instruct -tp 4 --mm-encoder-tp-mode data \
  --max-model-len 32768 --limit-mm-per-prompt.image 4 --limit-mm-per-prompt.video 0
