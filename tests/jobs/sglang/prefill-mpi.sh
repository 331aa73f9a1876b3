mpirun -np 2 --map-by ppr:1:node python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2-Instruct --tp 16 --nnodes 2 --node-rank $OMPI_COMM_WORLD_RANK --dist-init-addr host:5000 \
 --disaggregation-mode=prefill --chunked-prefill-size 65536 --max-prefill-tokens 65536 --moe-a2a-backend deepep --deepep-mode normal --enable-two-batch-overlap --dp 16 --enable-dp-attention
