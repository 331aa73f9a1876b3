# The same model and optimizer as in pretraining, stepped by another library.
python3 -m maxtext.trainers.post_train.sft.train_sft "${CONFIGS:-src/maxtext/configs}"/sft.yml \
  run_name=$(date +%H) model_name=llama3.1-8b-Instruct per_device_batch_size=1 steps=5 \
  max_target_length=1024 weight_dtype=bfloat16
