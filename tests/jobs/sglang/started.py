import os

TP = 8
os.system("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 "
          f"--tp {TP} --mem-fraction-static 0.85")
