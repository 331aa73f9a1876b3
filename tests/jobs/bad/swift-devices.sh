#moeplan cluster=h100
CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen3-30B-A3B --max_length 2048
