python -m maxtext.trainers.pre_train.train maxtext/configs/base.yml run_name=q3 model_name=qwen3-30b-a3b base_output_directory=gs://b \
 per_device_batch_size=1 gradient_accumulation_steps=4 max_target_length=8192 ici_tensor_parallelism=2 ici_fsdp_parallelism=8 ici_context_parallelism=2 ici_expert_parallelism=4 \
 quantization=fp8 optimizer_memory_host_offload=True remat_policy=minimal_with_context hardware=gpu
