# A cache of adapters, of named modules, beside a dense model.
cat <<'YAML' > options.yaml
lora_config:
  lora_target_modules: [attn_q, attn_k, attn_v, attn_dense]
  max_lora_rank: 16
  max_loras: 8
  max_cpu_loras: 16
YAML
trtllm-serve meta-llama/Llama-3.1-8B-Instruct --tp_size 2 --max_batch_size 64 \
  --max_seq_len 8192 --extra_llm_api_options options.yaml
#moeplan cluster=h100
