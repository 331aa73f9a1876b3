# slime on FSDP2: a model by its checkpoint, layers run again, two ranks to a sequence.
#moeplan cluster=h100
ray job submit --address="http://127.0.0.1:8265" -- python3 train.py \
   --train-backend fsdp --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
   --hf-checkpoint /models/Qwen3-30B-A3B --ref-load /models/Qwen3-30B-A3B \
   --rollout-batch-size 16 --n-samples-per-prompt 8 --global-batch-size 128 \
   --rollout-max-response-len 8192 --use-dynamic-batch-size --max-tokens-per-gpu 9216 \
   --context-parallel-size 2 --gradient-checkpointing --attn-implementation flash_attention_3 \
   --optimizer adam --lr 1e-6 --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.6 \
   --use-kl-loss --advantage-estimator grpo
