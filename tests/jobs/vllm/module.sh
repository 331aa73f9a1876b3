#moeplan cluster=b200
python3 -m vllm.entrypoints.openai.api_server --model openai/gpt-oss-120b \
  --tensor-parallel-size 2 --max-num-batched-tokens 16384 --max-num-seqs 512 \
  --compilation-config '{"cudagraph_mode": "PIECEWISE", "mode": 3}' -O3 \
  --async-scheduling --enforce-eager --host 0.0.0.0 --max-model-len 131072
