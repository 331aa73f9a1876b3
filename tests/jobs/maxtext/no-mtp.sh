#moeplan cluster=h100-8x32
python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml model_name=deepseek3-671b \
  hardware=gpu per_device_batch_size=2 max_target_length=4096 ici_fsdp_parallelism=-1 \
  ici_expert_parallelism=8 remat_policy=full mtp_num_layers=0 sparse_matmul=False capacity_factor=1.0
