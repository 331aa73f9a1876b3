# A script that is written here and started on every node.
cat > serve.sh <<'EOF'
#!/bin/bash
vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --max-model-len 16384
EOF
chmod +x serve.sh
srun -N 1 ./serve.sh
