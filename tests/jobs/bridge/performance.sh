python scripts/performance/setup_experiment.py \
  --account my_acct --partition batch --container_image nvcr.io/nvidia/nemo:25.11 \
  -m deepseek -mr deepseek_v3 --gpu gb200 -ng 256 -gn 4 -c fp8_mx --task pretrain -hf $HF_TOKEN \
  -tp 1 -pp 4 -vp 4 -ep 64 -et 1 -mb 1 -gb 2048 --cuda_graph_impl transformer_engine \
  --cuda_graph_scope attn,moe_router --recompute_modules moe_act --moe_a2a_overlap true --use_megatron_fsdp false --dryrun
