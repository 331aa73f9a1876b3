# a draft whose head has the 32,768 words of its map, in formats of its own
python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct \
    --speculative-algorithm EAGLE --speculative-draft-model-path meta-llama/Llama-3.2-1B \
    --speculative-num-steps 3 --speculative-num-draft-tokens 4 \
    --speculative-token-map thunlp/LLaMA3-Instruct-8B-FR-Spec/freq_32768.pt \
    --speculative-draft-model-quantization fp8 --speculative-draft-kv-cache-dtype fp8_e4m3
