# Cluster Toolkit: a slice by the device and its sides, the program by a default.
TOOL="${GCLUSTER_BIN:-gcluster}"
SLICES="${NUM_SLICES:-2}"
NAME=gemma-$(date +%H%M)
ARGS="model_name=gemma3-27b per_device_batch_size=2 max_target_length=8192 attention=flash"
"${TOOL}" job submit --cluster "$CLUSTER" --compute-type v6e-4 --topology 16x16 \
  --num-slices ${SLICES} --name "${NAME}" \
  --command "set +e; python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml \
${ARGS} run_name=${NAME} | tee log; exit \${PIPESTATUS[0]}"
