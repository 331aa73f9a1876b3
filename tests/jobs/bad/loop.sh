for i in 1 2; do
  vllm serve deepseek-ai/DeepSeek-V3
done
