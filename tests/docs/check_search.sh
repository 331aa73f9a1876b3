#!/bin/sh
# What search lists is what predict says of the plan with its settings: engines whose experts
# follow from the layout, tensor parallelism that splits the sequence, layouts that the plan
# states otherwise.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_search.sh ROOT}" || exit 1
command -v python3 > /dev/null || { echo 'python3 is not installed: skipped'; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0
plan() {
    n=$((n + 1))
    printf '%s\n' "$@" > "$scratch/$n.yaml"
}
plan 'model: qwen3-235b-a22b' 'cluster: h100-8x2' 'stack: vllm' \
    'workload: {mode: serve, concurrency: 32, input_length: 1024, output_length: 256}'
plan 'model: deepseek-v3' 'cluster: h200-8x2' 'stack: sglang' \
    'workload: {mode: prefill, sequence_length: 4096}' 'parallel: {tp: 16, attention_dp: 4}'
plan 'model: deepseek-v3' 'cluster: h200-8x2' 'stack: vllm' \
    'workload: {mode: decode, micro_batch: 64, context_length: 4096}' 'parallel: {tp: 8}'
plan 'model: qwen3-235b-a22b' 'cluster: h200-8x2' 'stack: sglang' \
    'workload: {mode: decode, micro_batch: 16, context_length: 4096}' 'parallel: {tp: 4}'
plan 'model: deepseek-v3' 'cluster: h200-8x2' 'stack: vllm' \
    'workload: {mode: prefill, sequence_length: 4096}' 'parallel: {tp: 16, ep: 16}'
plan 'model: gpt-oss-120b' 'cluster: b200-8x1' 'stack: trtllm' \
    'workload: {mode: serve, concurrency: 64, input_length: 1024, output_length: 1024}'
plan 'model: qwen3-30b-a3b' 'cluster: h100-8x2' 'stack: megatron' \
    'parallel: {ep: 8, tp: 2, dp: 8}'
plan 'model: mixtral-8x7b' 'cluster: h100-8x1'
plan 'model: qwen3-30b-a3b' 'cluster: h100-8x1' 'stack: deepspeed'
exec python3 tests/docs/check_search.py "$MOEPLAN" "$scratch"/*.yaml
