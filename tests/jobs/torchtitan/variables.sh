NGPU=8 MODULE=deepseek_v3 CONFIG=deepseek_v3_16b ./run_train.sh \
  --parallelism.expert_parallel_degree 8 --training.local_batch_size 4
