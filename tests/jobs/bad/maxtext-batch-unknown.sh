# What the shell alone knows is read into by a plan here.
NAME=run-$(date +%H)
xpk workload create --tpu-type=v6e-256 --workload=$NAME --command="export B='${BATCH}'; \
python3 -m MaxText.train MaxText/configs/base.yml model_name=llama2-7b run_name=$NAME \
per_device_batch_size='${BATCH}'"
