# A configuration of the job's own says most of it.
HERE="$(dirname "$0")"
python3 -m verl.trainer.main_ppo --config-path="$HERE/../files" --config-name=multi_turn \
  actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B actor_rollout_ref.rollout.name=vllm \
  algorithm.adv_estimator=grpo data.max_response_length=2048 \
  trainer.nnodes=1 trainer.n_gpus_per_node=8
