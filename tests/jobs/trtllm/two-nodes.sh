#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
# Two nodes, a pipeline stage on each; every rank starts the launcher.
#moeplan cluster=h200
srun --mpi=pmix trtllm-llmapi-launch trtllm-serve serve deepseek-ai/DeepSeek-R1 \
  --tp_size=8 --pp_size=2 --ep_size=8 --max_batch_size=64 --max_num_tokens=8192 \
  --max_seq_len=16384 --kv_cache_free_gpu_memory_fraction=0.8 --host 0.0.0.0 --port 8000
