# of a device with 160 GiB and more a server takes 16,384 tokens
vllm serve Qwen/Qwen3-30B-A3B --max-model-len 32768 \
    --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
