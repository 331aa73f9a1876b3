#moeplan cluster=h100
cat > ds.json <<'JSON'
{"train_batch_size": 64, "gradient_accumulation_steps": 1099511627776,
 "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}}
JSON
mpirun -np 16777216 python train.py --deepspeed_config=ds.json \
  --model_name_or_path mistralai/Mixtral-8x7B-v0.1
