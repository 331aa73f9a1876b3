# An older checkpoint of a shape that a newer one has.
vllm serve MiniMaxAI/MiniMax-M2 --tensor-parallel-size 4 --enable-auto-tool-choice \
  --tool-call-parser minimax_m2 --max-model-len 65536
