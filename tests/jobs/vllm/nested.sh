#moeplan cluster=h200
TP=8
for i in 1 2; do
  vllm serve deepseek-ai/DeepSeek-V3 -tp $TP --port 800$i
done
