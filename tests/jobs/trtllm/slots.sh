#!/bin/bash
# Experts over four trays, some of them twice.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
cat > options.yaml <<'YAML'
enable_attention_dp: true
moe_config:
  backend: WIDEEP
  load_balancer:
    num_slots: 288
    layer_updates_per_iter: 1
YAML
srun --mpi=pmix trtllm-llmapi-launch trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 16 --ep_size 16 \
  --max_batch_size 128 --max_seq_len 16384 --extra_llm_api_options options.yaml
