# A launch that tmux starts, of settings in a loop of one.
for TP in 2; do
  tmux new-session -d -s serve "cd /work && vllm serve Qwen/Qwen3-30B-A3B \
    --tensor-parallel-size $TP --max-num-seqs 48"
done
