#!/bin/bash
python3 -m openrlhf.cli.train_ppo_ray --ref_num_nodes 1 --ref_num_gpus_per_node 8 \
  --critic_num_nodes 1 --critic_num_gpus_per_node 8 --reward_num_nodes 1 \
  --reward_num_gpus_per_node 8 --actor_num_nodes 2 --actor_num_gpus_per_node 8 \
  --vllm_num_engines 2 --vllm_tensor_parallel_size 4 --pretrain Qwen/Qwen3-14B \
  --reward_pretrain OpenRLHF/Llama-3-8b-rm-mixture --prompt_max_len 1024 --generate_max_len 2048 \
  --train_batch_size 256 --use_dynamic_batch --bf16 --gradient_checkpointing
