# A chip of TPU7x shows as two devices: 128 of them are 64 chips.
xpk workload create-pathways --workload=w --device-type=tpu7x-128 --num-slices=1 \
  --command "python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml model_name=mixtral-8x7b ici_fsdp_parallelism=-1 per_device_batch_size=1 max_target_length=4096"
