CUDA_VISIBLE_DEVICES=0,1,2,3 VLLM_USE_V1=1 vllm serve mistralai/Mixtral-8x7B-Instruct-v0.1 -tp 4 -pp 1 --dtype half \
  --quantization awq_marlin --max-num-seqs 64 --max-model-len 16384 --num-scheduler-steps 8 --cpu-offload-gb 4 --enable-lora --max-loras 4 --max-lora-rank 64
