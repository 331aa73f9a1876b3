FROM python:3.12
ARG TP=2
RUN pip install vllm
CMD vllm serve openai/gpt-oss-20b --tensor-parallel-size ${TP} \
    --max-num-seqs 32
