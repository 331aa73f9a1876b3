# The performance script of Megatron-Bridge: a recipe by name, the rest as short flags.
#moeplan workload.sequence_length=4096
python run_script.py -m qwen -mr qwen3_30b_a3b -ng 16 -gn 8 -g h100 -ep 16 -mb 1 -gb 1024 \
    --task pretrain -c bf16
