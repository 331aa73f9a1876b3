# Images are what the command line asks for; the shape is that of the base model.
python3 -m MaxText.train MaxText/configs/base.yml model_name=qwen3-30b-a3b-base \
  per_device_batch_size=1 mu_dtype=bfloat16 opt_type=adam_pax
