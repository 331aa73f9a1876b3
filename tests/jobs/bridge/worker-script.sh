# The program of each rank is a script that the job writes first: a launch of the performance
# scripts, whose own arguments set more than they are called.
#moeplan cluster=gb200-4x16
sed -i 's/timeout = 10/timeout = 60/' scripts/performance/run_script.py
worker=$(cat <<- END
  echo "rank \$RANK of \$WORLD_SIZE" ;
  numactl --cpunodebind=\$((LOCAL_RANK/2)) nice -10 \
  python scripts/performance/run_script.py \
    --model_family_name qwen --model_recipe_name qwen3_235b_a22b --gpu gb200 \
    --num_gpus 64 --gpus_per_node 4 --compute_dtype bf16 --seq_length 4096 \
    --global_batch_size 1024 --micro_batch_size 1 \
    --tensor_model_parallel_size 2 --pipeline_model_parallel_size 4 \
    --virtual_pipeline_model_parallel_size None \
    --expert_model_parallel_size 16 --expert_tensor_parallel_size 1 \
    --moe_a2a_overlap False --moe_flex_dispatcher_backend hybridep \
    --recompute_modules moe_act,layernorm
END
)
echo "$worker" > worker.sh
chmod 700 worker.sh
torchrun --nproc-per-node="4" --nnodes="16" --node_rank="$JOB_COMPLETION_INDEX" \
  --no-python bash worker.sh 2>&1 | tee out.log
