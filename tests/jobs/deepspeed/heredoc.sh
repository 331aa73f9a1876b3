#moeplan cluster=h100
cat > ds.json <<'JSON'
{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true},
 "data_types": {"grad_accum_dtype": "fp32"},
 "tensor_parallel": {"autotp_size": 2}, "zero_optimization": {"stage": 1}}
JSON
mpirun -np 16 python train.py --deepspeed_config=ds.json \
  --model_name_or_path mistralai/Mixtral-8x7B-v0.1
