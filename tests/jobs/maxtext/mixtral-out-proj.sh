#!/bin/bash
set -e
export LIBTPU_INIT_ARGS="--xla_tpu_scoped_vmem_limit_kib=81920 --xla_tpu_enable_async_collective_fusion=true"
OUTPUT=${OUTPUT:-gs://bucket/out}
python3 -m MaxText.train MaxText/configs/base.yml run_name=mixtral_$(date +%s) base_output_directory=${OUTPUT} \
  model_name=mixtral-8x22b per_device_batch_size=2 max_target_length=8192 \
  ici_fsdp_parallelism=64 ici_tensor_parallelism=4 \
  dataset_type=synthetic steps=20 remat_policy=save_out_proj \
  sparse_matmul=True megablox=False capacity_factor=1.25 tokenizer_path=assets/tokenizer.mistral-v3 \
  enable_checkpointing=false async_checkpointing=false profiler=xplane 'xla_flags="--foo"' use_ring_of_experts=false \
  quantization=fp8_full
