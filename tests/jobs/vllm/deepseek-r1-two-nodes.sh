#!/bin/bash
# serve on 8xH200
export VLLM_USE_DEEP_GEMM=1
export VLLM_ALL2ALL_BACKEND=${A2A:-deepep_high_throughput}
MODEL=${MODEL:-deepseek-ai/DeepSeek-R1-0528}
vllm serve "$MODEL" \
    --tensor-parallel-size=1 \
    --data-parallel-size ${DP:-16} --data-parallel-size-local 8 \
    --data-parallel-address 10.0.0.1 --data-parallel-rpc-port 13345 \
    --enable-expert-parallel \
    --max-model-len 32k \
    --max-num-batched-tokens 16384 \
    --max-num-seqs 256 \
    --gpu-memory-utilization 0.95 \
    --kv-cache-dtype fp8_e4m3 \
    --enable-eplb --eplb-config '{"window_size":1000,"step_interval":3000,"num_redundant_experts":32,"log_balancedness":true}' \
    --compilation-config '{"cudagraph_mode":"FULL_DECODE_ONLY","cudagraph_capture_sizes":[1,2,4,8,16,32,64,128,256]}' \
    --speculative-config '{"method":"mtp","num_speculative_tokens":1}' \
    --no-enable-prefix-caching --disable-log-requests \
    --trust-remote-code --port ${PORT:-8000} > serve.log 2>&1 &
