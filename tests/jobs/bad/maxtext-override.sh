python3 -m MaxText.train MaxText/configs/base.yml model_name=mixtral-8x7b \
  base_emb_dim=64 per_device_batch_size=1
