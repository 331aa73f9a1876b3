FROM vllm/vllm-openai:v0.11.0
ENV TP 4
CMD ["--model", "zai-org/GLM-4.5-Air-FP8", "--tensor-parallel-size", "4", "--max-num-seqs", "64"]
