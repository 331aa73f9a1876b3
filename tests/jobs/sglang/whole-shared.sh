# shared experts whose scales do not divide by the ranks: each has them whole
export SGLANG_SHARED_EXPERT_TP1=1
python -m sglang.launch_server --model-path zai-org/GLM-4.5-Air-FP8 --tp 8 \
    --disable-shared-experts-fusion --context-length 32768
