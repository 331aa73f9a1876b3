#!/bin/bash
#moeplan cluster=h100-1x1
vllm serve Qwen/Qwen2.5-VL-7B-Instruct --mm-encoder-only
