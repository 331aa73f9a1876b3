#moeplan cluster=h100
NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-30B-A3B --max_length 2048 \
  --deepspeed '{"zero_optimization": {"stage": 2}'
