#!/bin/bash
#moeplan cluster=b200
# Supervised, by the same trainer: no engine, samples packed up to a number of tokens.
python3 train_async.py --actor-num-nodes 4 --actor-num-gpus-per-node 8 \
   --hf-checkpoint /models/Qwen3-235B-A22B --ref-load /models/Qwen3-235B-A22B_torch_dist \
   --loss-type sft_loss --disable-compute-advantages-and-returns --debug-train-only \
   --rollout-batch-size 128 --global-batch-size 128 --num-epoch 3 --calculate-per-token-loss \
   --tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size 1 \
   --context-parallel-size 1 --expert-model-parallel-size 32 --expert-tensor-parallel-size 1 \
   --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
   --use-dynamic-batch-size --max-tokens-per-gpu 9216 --optimizer adam --optimizer-cpu-offload \
   --use-precision-aware-optimizer
