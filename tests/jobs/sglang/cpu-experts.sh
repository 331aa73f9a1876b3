#!/bin/bash
#moeplan cluster=h100-2x1
# KTransformers: 32 of 256 experts of each layer are on the devices, the CPU has the others.
python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 2 \
  --kt-weight-path /models/DeepSeek-V3-AMXINT4 --kt-method AMXINT4 --kt-num-gpu-experts 32 \
  --kt-cpuinfer 60 --kt-threadpool-count 2
