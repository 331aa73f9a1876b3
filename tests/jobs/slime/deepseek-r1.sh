#!/bin/bash
#moeplan cluster=h200
BASE_DIR=${BASE_DIR:-/data}
PERF_ARGS=(
   --tensor-model-parallel-size 8
   --sequence-parallel
   --pipeline-model-parallel-size 4
   --context-parallel-size 4
   --expert-model-parallel-size 32
   --expert-tensor-parallel-size 1
   --decoder-last-pipeline-num-layers 13
   --recompute-granularity full
   --recompute-method uniform
   --recompute-num-layers 1
   --use-dynamic-batch-size
   --max-tokens-per-gpu 16384
)
ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"env_vars": {"PYTHONPATH": "/models/Megatron-LM/"}}' \
   -- python3 train.py --actor-num-nodes 16 --actor-num-gpus-per-node 8 --colocate \
   --hf-checkpoint $BASE_DIR/DeepSeek-R1/ --ref-load $BASE_DIR/DeepSeek-R1_torch_dist/ \
   --rollout-batch-size 128 --n-samples-per-prompt 8 --num-steps-per-rollout 4 \
   --rollout-max-response-len 32768 --num-rollout 3000 \
   --optimizer adam --optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d \
   --use-precision-aware-optimizer --advantage-estimator grpo --use-kl-loss \
   --rollout-num-gpus-per-engine 64 --sglang-mem-fraction-static 0.7 \
   --moe-enable-deepep --moe-token-dispatcher-type flex "${PERF_ARGS[@]}"
