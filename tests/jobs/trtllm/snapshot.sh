# A snapshot of the hub's cache; quotes inside a script in quotes.
bash -c 'exec trtllm-serve serve \
  /store/hub/models--openai--gpt-oss-120b/snapshots/b5c939de8f75 --tp_size 4 \
  --extra_llm_api_options '\''options.yaml'\'' \
  --max_batch_size '"800"
cat > options.yaml <<'EOF'
moe_config: {backend: CUTLASS}
EOF
#moeplan cluster=b200
