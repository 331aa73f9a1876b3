#moeplan cluster=h200
# A draft as it was named until 0.9.
vllm serve /models/Meta-Llama-3.1-70B-Instruct -tp 8 --max-model-len 8192 \
  --speculative-model /models/Meta-Llama-3.1-8B-Instruct --num-speculative-tokens 5
