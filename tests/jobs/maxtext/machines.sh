# A slice by the machine of its nodes; ranks of a context alone share out the weights.
gcluster job submit --compute-type ct6e-standard-4t --topology 4x8 --num-slices 1 \
  --command "python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml \
model_name=llama3.1-8b ici_fsdp_parallelism=1 ici_context_parallelism=32 \
per_device_batch_size=0.03125 max_target_length=262144 num_vocab_tiling=16 \
remat_policy=custom context=device qkv_proj=device query_proj=device"
