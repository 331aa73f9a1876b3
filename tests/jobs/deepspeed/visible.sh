# The devices that a variable in front of the launcher lists are the job's ranks; the launch is
# the text of a variable.
#moeplan cluster=h100
cat > zero3.json <<END
{"train_batch_size": 8, "gradient_accumulation_steps": 2, "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}
END
again="--activation_checkpointing"
RUN="CUDA_VISIBLE_DEVICES=2,3 deepspeed --bind_cores_to_rank tune.py \
  --deepspeed_config=zero3.json --model_name_or_path Qwen/Qwen3-30B-A3B \
  --max_length 4096 $again"
eval $RUN
