#!/bin/bash
# github.com/AI-Hypercomputer/maxtext issue 1828: base.yml's axes, whatever the devices
python3 -m MaxText.train MaxText/configs/base.yml run_name=r per_device_batch_size=8 \
  max_target_length=4096 base_emb_dim=5120 base_num_query_heads=40 base_num_kv_heads=40 \
  base_mlp_dim=6144 base_num_decoder_layers=60 head_dim=128 vocab_size=151936 \
  num_experts_per_tok=2 num_experts=32 megablox=True sparse_matmul=True
