python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml run_name="l4" model_name="llama4-17b-16e" \
   hardware=gpu attention=cudnn_flash_te per_device_batch_size=1 max_target_length=8192 ici_fsdp_parallelism=8 dcn_fsdp_parallelism=16 \
   ici_expert_parallelism=1 dcn_data_parallelism=1 weight_dtype=bfloat16 optimizer_memory_host_offload=True remat_policy=minimal_offloaded \
   shardy=true use_iota_embed=true num_slices=16
