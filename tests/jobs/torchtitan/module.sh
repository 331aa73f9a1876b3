#moeplan cluster=h100
#moeplan model=deepseek-v2-lite
# The configuration is Python: only its name and the overrides are known.
torchrun --nproc_per_node 8 -m torchtitan.train --module deepseek_v3 --config deepseek_v3_16b \
    --parallelism.expert_parallel_degree 8 \
    --training.num-tokens-per-microbatch-per-dp-rank 16384 \
    --training.max-context-length 4096
