#!/bin/bash
# A server that a function starts, with the arguments of its one call.
start() {
  local model=$1 tp=$2
  shift 2
  echo "starting $model"
  vllm serve "$model" --tensor-parallel-size "$tp" "$@" > server.log 2>&1 &
}
function wait_for {
  until curl -s "localhost:$1/health"; do sleep 1; done
}
start Qwen/Qwen3-30B-A3B 4 --max-num-seqs 96
wait_for 8000
