# A file of overrides made by the script, and one key=value on top of it.
#moeplan cluster=h100-8x2
cat > job.yml <<YAML
base_config: base.yml
model_name: qwen3-30b-a3b
per_device_batch_size: ${BATCH:-2}
ici_fsdp_parallelism: -1
ici_expert_parallelism: 4
remat_policy: minimal_with_context
weight_dtype: bfloat16
YAML
python3 -m MaxText.train job.yml max_target_length=4096 per_device_batch_size=4 \
    ici_context_parallelism=2 use_ring_of_experts=true
