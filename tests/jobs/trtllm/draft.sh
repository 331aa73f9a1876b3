# A module that drafts, in the file of options.
cat <<'YAML' > options.yaml
enable_attention_dp: true
kv_cache_config:
  dtype: fp8
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 3
YAML
trtllm-serve nvidia/DeepSeek-R1-0528-FP4 --tp_size 8 --ep_size 8 --max_batch_size 64 \
  --max_seq_len 16384 --extra_llm_api_options options.yaml
