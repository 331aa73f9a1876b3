# A worker of Dynamo for prompts alone.
python -m dynamo.vllm --model Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 --is-prefill-worker \
  --enforce-eager
