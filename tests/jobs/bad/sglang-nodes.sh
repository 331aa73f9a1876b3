#moeplan cluster=h100
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 14 \
  --dist-init-addr 10.21.99.116:5000 --nnodes 4 --node-rank 0 --trust-remote-code
