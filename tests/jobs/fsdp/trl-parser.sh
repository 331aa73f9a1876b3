#!/bin/bash
#moeplan cluster=h100
# A script of one's own, whose flags TRL's parser takes: huggingface/trl
# examples/sft_long_context, where 8 H100 take 483 s for a sequence of 1,048,576 tokens.
cat > context_parallel.yaml <<'EOF'
distributed_type: FSDP
fsdp_config:
  fsdp_activation_checkpointing: true
  fsdp_activation_checkpointing_offload: true
  fsdp_reshard_after_forward: true
  fsdp_version: 2
mixed_precision: bf16
num_machines: 1
num_processes: 8
parallelism_config:
  parallelism_config_dp_shard_size: 1
  parallelism_config_cp_size: 8
EOF
cat > train.py <<'EOF'
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser
parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
script_args, training_args, model_args = parser.parse_args_and_config()
SFTTrainer(model=model_args.model_name_or_path, args=training_args).train()
EOF
accelerate launch --config_file context_parallel.yaml train.py \
  --model_name_or_path Qwen/Qwen3-30B-A3B --max_length 1048576 \
  --per_device_train_batch_size 1 --gradient_checkpointing False --bf16
