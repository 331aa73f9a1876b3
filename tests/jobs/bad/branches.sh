#moeplan cluster=h200
if [ "$SIZE" = large ]; then
  TP=8
else
  TP=4
fi
if [ "$NODE_RANK" = 0 ]; then
  vllm serve deepseek-ai/DeepSeek-V3 -tp $TP
fi
