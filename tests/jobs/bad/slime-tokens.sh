#moeplan cluster=h100
python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --use-dynamic-batch-size \
  --hf-checkpoint /models/Qwen3-30B-A3B --rollout-batch-size 8
