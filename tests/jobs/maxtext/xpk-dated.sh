# The run's name is what only the shell knows; the slices, the model and the batch are not.
export NAME="$(printf '%.20s' "${USER//_/-}-dsv3")-$(date +%H%M)"
ARGS="model_name=deepseek3-671b per_device_batch_size=8 remat_policy=custom \
decoder_layer_input=offload mu_dtype=bfloat16 grad_dtype=bfloat16 run_name=${NAME} steps=5"
xpk workload create --cluster=$CLUSTER --device-type=tpu7x-4x4x4 --num-slices=1 \
  --workload="${NAME}" --command="set -e && export OUT='${OUTPUT_DIR}' && \
python3 -u -m MaxText.train MaxText/configs/base.yml ${ARGS} | tee log && \
gcloud storage cp log ${OUTPUT_DIR}/log-\${TPU_WORKER_ID}"
