#moeplan cluster=h100
# A configuration that the script writes, and one flag on top.
cat > c.yaml <<END
tensor-parallel-size: ${TP:-4}
max-model-len: 32768
quantization: fp8
END
exec vllm serve Qwen/Qwen3-235B-A22B --config c.yaml \
  --gpu-memory-utilization .85 --max-num-seqs 64
