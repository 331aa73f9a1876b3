#moeplan cluster=h100
accelerate launch --config_file nowhere.yaml --num_processes 8 train.py --fsdp full_shard
