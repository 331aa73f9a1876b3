# A launch kept in a variable, a word of which is the script's argument.
mode=$1
run="deepspeed tune.py --deepspeed_config=$mode.json --model_name_or_path Qwen/Qwen3-30B-A3B \
  --max_length 4096"
eval $run
