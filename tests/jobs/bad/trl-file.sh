# a preset of TRL's, which is a file inside its package
trl sft --accelerate_config fsdp3 --model_name_or_path Qwen/Qwen3-30B-A3B
