#moeplan cluster=h100
torchrun --nproc_per_node=8 --rdzv_backend c10d -m torchtitan.train --module deepseek_v3 \
  --config deepseek_v3_16b --parallelism.expert_parallel_degree=4 --training.local_batch_size 4
