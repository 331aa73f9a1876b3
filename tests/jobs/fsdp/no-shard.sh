torchrun --standalone --nproc-per-node=8 run_clm.py --model_name_or_path allenai/OLMoE-1B-7B-0924 \
  --fsdp=no_shard --fsdp_config '{"version": 2, "backward_prefetch": "NO_PREFETCH"}' \
  --fp16 --per_device_train_batch_size 4 --block_size 2048
