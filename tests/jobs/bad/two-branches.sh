#moeplan cluster=h200
if [ "$1" = prefill ]; then
  vllm serve deepseek-ai/DeepSeek-V3 -tp 8
else
  vllm serve deepseek-ai/DeepSeek-V3 -tp 16
fi
