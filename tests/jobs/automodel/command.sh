#moeplan cluster=h100
automodel finetune llm -c llama-peft.yaml --nproc-per-node 4 --model.pretrained_model_name_or_path Qwen/Qwen3-32B
