# PPO on one node: all models share its devices, DeepSpeed's states leave, the weights' mean stays.
set -x
read -r -d '' COMMAND <<EOF
openrlhf.cli.train_ppo_ray --colocate_all_models --actor_num_nodes 1 --actor_num_gpus_per_node 8 \
  --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.5 \
  --vllm_enable_sleep --deepspeed_enable_sleep --zero_stage 3 --bf16 --gradient_checkpointing \
  --pretrain Qwen/Qwen3-8B --reward_pretrain Qwen/Qwen2.5-7B-Instruct \
  --critic_pretrain meta-llama/Llama-3.1-8B-Instruct --ref_reward_offload --enable_ema \
  --micro_train_batch_size 2 --train_batch_size 128 --prompt_max_len 1024 \
  --generate_max_len 1024 --init_kl_coef 1e-3
EOF
python3 -m $COMMAND
