#moeplan cluster=b200-8x1
cat > options.yaml <<EOF
enable_attention_dp: true
moe_config:
  max_num_tokens: 16384
EOF
trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --ep_size 8 --max_seq_len 8192 \
  --max_batch_size 64 --max_beam_width 2 --extra_llm_api_options options.yaml
