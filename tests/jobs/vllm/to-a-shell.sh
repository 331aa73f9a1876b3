# What another node's shell gets.
MODEL=openai/gpt-oss-20b
ssh node1 bash -s <<EOF
cd /work
vllm serve $MODEL --max-num-seqs 32
EOF
