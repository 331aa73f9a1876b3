#moeplan cluster=h100
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=someone/Unknown-7B
