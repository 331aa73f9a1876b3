# Ahead-of-time compilation for a TPU: the topology is the cluster.
python3 -m maxtext.trainers.pre_train.train_compile base.yml model_name=mixtral-8x7b \
    per_device_batch_size=8 compile_topology=v5p-128 compile_topology_num_slices=1
