# A folder that is not here, by the name that its clients know.
vllm serve /mnt/models/ckpt --served-model-name Qwen/Qwen3-30B-A3B-FP8 \
  --tensor-parallel-size 2 --max-model-len 32768
