# The configuration beside a launch, whose words win over it.
torchrun --nproc_per_node=8 --nnodes=2 examples/nlp/language_modeling/megatron_gpt_pretraining.py \
  --config-path=. --config-name=mixtral.yaml trainer.num_nodes=2 model.micro_batch_size=2 \
  model.fp8=true ++model.fp8_params=true model.ub_tp_comm_overlap=true
