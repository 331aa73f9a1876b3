# Tokamax's grouped products in place of megablox's, and ranks of experts that share out what
# else there is.
gcluster job submit --compute-type tpu7x --topology 2x2x2 --num-slices 2 \
  --command "python3 -m MaxText.train MaxText/configs/base.yml model_name=qwen3-30b-a3b \
megablox=False use_tokamax_gmm=True ici_fsdp_parallelism=1 ici_expert_parallelism=16 \
per_device_batch_size=1 max_target_length=4096 gradient_accumulation_steps=2 \
logits_dot_in_fp32=true"
