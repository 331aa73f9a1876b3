python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 --served-model-name qwen3 q3 \
 --tensor-parallel-size 4 --enable-expert-parallel --max-model-len 262144 --rope-scaling '{"type":"yarn","factor":4.0}' \
 --quantization fp8 --enforce-eager --swap-space 16 --block-size 32 --max-seq-len-to-capture 8192 --kv-cache-dtype auto -O3 --max-logprobs 20
