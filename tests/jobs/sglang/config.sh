#moeplan cluster=h100
cat <<'YAML' > server.yaml
tp-size: 4
mem-fraction-static: 0.9
kv-cache-dtype: fp8_e4m3
YAML
python -m sglang.launch_server --config server.yaml --model-path openai/gpt-oss-120b \
  --max-running-requests=256 --context-length=16384
