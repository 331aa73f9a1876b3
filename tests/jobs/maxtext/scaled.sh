# 128 is seven doublings: heads and networks three times, the width and the depth twice each.
export RUN=train
python3 -m maxtext.trainers.pre_train.$RUN src/maxtext/configs/base.yml steps=10 \
  global_parameter_scale=128 per_device_batch_size=0.5 ici_tensor_parallelism=8 \
  max_target_length=2048 remat_policy=minimal_with_quantization quantization=fp8
