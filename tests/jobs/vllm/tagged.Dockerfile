ARG TAG=v0.11.2
FROM vllm/vllm-openai:${TAG} AS base
RUN pip install extras
FROM base
ENTRYPOINT ["vllm", "serve"]
CMD ["Qwen/Qwen3-30B-A3B", "--tensor-parallel-size", "2"]
