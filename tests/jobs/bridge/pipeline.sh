#moeplan cluster=h100
# A recipe of DeepSeek-V3 with a pipeline; the last of a repeated override holds.
srun -N 32 --ntasks-per-node 8 python run_recipe.py --recipe deepseek_v3_pretrain_config \
  model.pipeline_model_parallel_size=8 \
  model.expert_model_parallel_size=32 model.expert_model_parallel_size=16 \
  'model.pipeline_model_parallel_layout="Et*3|(t*4|)*14t*2mL"' train.micro_batch_size=1 \
  train.global_batch_size=2048 model.seq_length=4096 mixed_precision=bf16-mixed
