# Two slices of 64 chips; the command is xpk's own word.
ARGS="model_name=mixtral-8x7b per_device_batch_size=2 max_target_length=4096 dataset_type=synthetic"
CMD="export LIBTPU_INIT_ARGS='--xla=1' && python3 -m MaxText.train MaxText/configs/base.yml ${ARGS}"
xpk workload create --cluster=$CLUSTER --workload=w --num-slices=2 --tpu-type=v5p-128 \
  --docker-image=gcr.io/x/y --command="$CMD"
