#!/bin/bash
torchrun --nproc_per_node=8 --nnodes=${NNODES:-2} scripts/training/run_recipe.py \
  --recipe qwen3_30b_a3b_pretrain_config \
  model.tensor_model_parallel_size=2 model.expert_model_parallel_size=8 model.sequence_parallel=true \
  model.pipeline_model_parallel_size=1 model.seq_length=8192 train.micro_batch_size=2 train.global_batch_size=512 \
  mixed_precision=bf16_with_mxfp8_mixed \
  model.moe_flex_dispatcher_backend=hybridep model.moe_token_dispatcher_type=flex \
  optimizer.use_precision_aware_optimizer=True optimizer.exp_avg_dtype=torch.bfloat16 \
  'model.recompute_granularity=selective' '+model.recompute_modules=[moe_act,layernorm]' \
  ddp.grad_reduce_in_fp32=true comm_overlap.overlap_moe_expert_parallel_comm=true \
  checkpoint.save=/ckpt logger.log_interval=1 train.train_iters=100 rng.seed=1234 model.apply_rope_fusion=true
