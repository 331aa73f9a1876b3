# the image's own entry serves the folder that the checkpoint is mounted at
docker run --gpus all --ipc=host -p 8000:8000 -v /mnt/models:/models \
    vllm/vllm-openai:v0.20.0 /models/zai-org/GLM-4.6 \
    --tensor-parallel-size 8 --gpu-memory-utilization 0.95 --max-model-len 65536
