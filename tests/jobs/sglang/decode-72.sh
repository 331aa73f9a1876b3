# decode node of a PD deployment
python3 -m sglang.launch_server --model-path /models/DeepSeek-V3 --disaggregation-ib-device mlx5_0,mlx5_1 --disaggregation-mode decode \
  --dist-init-addr 10.0.0.2:5757 --tp-size 72 --dp-size 72 --enable-dp-attention --enable-dp-lm-head --decode-log-interval 1 --page-size 1 \
  --host 0.0.0.0 --trust-remote-code --moe-a2a-backend deepep --moe-dense-tp-size 1 --enable-deepep-moe --deepep-mode low_latency \
  --ep-num-redundant-experts 32 --mem-fraction-static 0.835 --max-running-requests 18432 --context-length 4500 --cuda-graph-bs 256 \
  --init-expert-location /x.json --ep-dispatch-algorithm static --num-reserved-decode-tokens 512 --nnodes 9 --node-rank 0 --cuda-graph-max-bs 256
