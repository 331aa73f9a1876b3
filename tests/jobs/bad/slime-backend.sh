#moeplan cluster=h100
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --train-backend deepspeed \
  --hf-checkpoint /models/Qwen3-30B-A3B --rollout-batch-size 8
