# GLM-4.7-Flash by slime's own script, shortened: its prediction module is trained, too.
#moeplan cluster=h100
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/../scripts/models/glm4.7-30B-A3B.sh"
CKPT_ARGS=(
   --hf-checkpoint $BASE_DIR/GLM-4.7-Flash/
   --ref-load $BASE_DIR/GLM-4.7-Flash_torch_dist/
)
ROLLOUT_ARGS=(
   --rollout-batch-size 128
   --n-samples-per-prompt 8
   --rollout-max-response-len 32768
   --rollout-temperature 1.0
   --global-batch-size 1024
   #--balance-data
)
PERF_ARGS=(
   --tensor-model-parallel-size 2
   --sequence-parallel
   --pipeline-model-parallel-size 2
   --context-parallel-size 2
   --expert-model-parallel-size 4
   --expert-tensor-parallel-size 1
   --decoder-last-pipeline-num-layers 23
   --recompute-granularity full
   --recompute-method uniform
   --recompute-num-layers 1
   --use-dynamic-batch-size
   --max-tokens-per-gpu 32768
)
MTP_ARGS=(
   --mtp-num-layers 1
   --enable-mtp-training
   --mtp-loss-scaling-factor 0.2
)
OPTIMIZER_ARGS=(
   --optimizer adam
   --lr 1e-6
   --optimizer-cpu-offload
   --overlap-cpu-optimizer-d2h-h2d
   --use-precision-aware-optimizer
)
SGLANG_ARGS=(
   --rollout-num-gpus-per-engine 8
   --sglang-mem-fraction-static 0.8
   --sglang-enable-dp-attention
   --sglang-dp-size 8
   --sglang-enable-dp-lm-head
   --sglang-moe-dense-tp-size 1
)
MISC_ARGS=(
   --attention-dropout 0.0
   --accumulate-allreduce-grads-in-fp32
   --attention-backend flash
   --moe-token-dispatcher-type flex
   --moe-enable-deepep
)
ray job submit --address="http://127.0.0.1:8265" \
   -- python3 train.py \
   --actor-num-nodes 1 \
   --actor-num-gpus-per-node 8 \
   --colocate \
   ${MODEL_ARGS[@]} \
   ${CKPT_ARGS[@]} \
   ${ROLLOUT_ARGS[@]} \
   ${OPTIMIZER_ARGS[@]} \
   ${PERF_ARGS[@]} \
   ${SGLANG_ARGS[@]} \
   ${MISC_ARGS[@]} \
   ${MTP_ARGS[@]}
