cat > /tmp/cfg.yaml <<'YAML'
model: moonshotai/Kimi-K2-Instruct
tensor-parallel-size: 16
pipeline_parallel_size: 1
enable-expert-parallel: true
max-num-seqs: 64
trust-remote-code: true
compilation-config:
  cudagraph_mode: PIECEWISE
YAML
srun -N 2 --ntasks-per-node=1 --gres=gpu:8 vllm serve --config /tmp/cfg.yaml --gpu-memory-utilization 0.9 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
