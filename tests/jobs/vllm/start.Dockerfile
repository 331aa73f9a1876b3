# syntax=docker/dockerfile:1
ARG CUDA=12.8.1
FROM nvidia/cuda:${CUDA}-devel-ubuntu22.04 AS build
RUN pip wheel vllm
CMD ["vllm", "serve", "Qwen/Qwen3-8B"]

FROM --platform=linux/amd64 nvidia/cuda:12.8.1-runtime-ubuntu22.04
#moeplan cluster=h100
ENV VLLM_ALL2ALL_BACKEND=deepep_low_latency \
    HF_HOME=/cache
HEALTHCHECK --interval=30s \
    CMD curl -f http://localhost:8000/health
ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]
CMD ["--model", "Qwen/Qwen3-30B-A3B", \
     # two replicas of the attention
     "--data-parallel-size", "2", "--enable-expert-parallel", \
     "--max-model-len", "16384"]
