# A line without its backslash, before words that are arrays set above.
MODEL_ARGS=(--num-layers 4 --hidden-size 256)
python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate \
   --update-weight-buffer-size $((512 * 1024 * 1024))
   ${MODEL_ARGS[@]} \
   ${PERF_ARGS[@]} \
   --hf-checkpoint somewhere/Qwen3-30B-A3B
