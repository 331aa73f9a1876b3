# int4 experts beside 16 bits, by the model's name.
vllm serve moonshotai/Kimi-K2-Thinking --tensor-parallel-size 8 --max-model-len 65536 \
  --trust-remote-code --enable-lora --max-lora-rank 16 --fully-sharded-loras
