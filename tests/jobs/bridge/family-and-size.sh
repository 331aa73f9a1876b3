# Releases before 0.2: a family and a size, and the scaling of FP8 beside the format.
python scripts/performance/setup_experiment.py --account some --partition some \
  --model_name deepseek --model_size v3 --gpu b200 --num_gpus 256 --gpus_per_node 8 \
  --compute_dtype fp8 --fp8_recipe mx -tp 1 -pp 8 -vp 2 -ep 8 --moe_a2a_overlap true -mb 1 -gb 2048 \
  --activation_offload_layers 0
