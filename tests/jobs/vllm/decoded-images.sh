#!/bin/bash
# Frames that the front end decodes take 2 GiB off the cache.
#moeplan cluster=h100-1x1
vllm serve Qwen/Qwen2.5-VL-7B-Instruct --mm-ipc-gpu-memory-gb 2 --max-model-len 32768
