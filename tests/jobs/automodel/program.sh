# Automodel's own program with the recipe alone.
HF_HOME=/tmp automodel dense.yaml --nproc-per-node 4 --step_scheduler.local_batch_size 2
