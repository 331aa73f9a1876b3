vllm serve deepseek-ai/DeepSeek-V3 --eplb-config "{num_redundant_experts: 3"
