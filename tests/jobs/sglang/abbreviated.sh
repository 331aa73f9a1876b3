#moeplan cluster=a100
# Beginnings of flags, as Python's argparse takes them, and experts in host memory.
python -m sglang.launch_server --model Qwen/Qwen3-235B-A22B-GPTQ-Int4/ \
  --tp 2 --mem-fraction 0.85 --host 0.0.0.0 --port 8000 \
  --context-len 32768 --chunked-prefill-size 32768 --disable-cuda-graph \
  --kt-weight-path /models/int8 --kt-cpuinfer 60 --kt-num-gpu-experts 0
