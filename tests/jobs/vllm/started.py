# A server that a program starts: its command grows in a list.
import json
import os
import subprocess

MODEL = "Qwen/Qwen3-30B-A3B"
N_GPU = 2
QUICK = True
GRAPHS = {"cudagraph_mode": "PIECEWISE"}


@app.function(gpu=f"H100:{N_GPU}", timeout=60 * 30)
def serve():
    cmd = ["vllm", "serve", MODEL, "--port", str(8000), "--api-key", os.environ["KEY"]]
    cmd += ["--enforce-eager" if QUICK else "--no-enforce-eager"]
    cmd.extend(["--tensor-parallel-size", str(N_GPU)])
    cmd.append(f"--max-num-seqs={N_GPU}8")
    cmd += ["--compilation-config", json.dumps(GRAPHS)]
    subprocess.Popen(" ".join(cmd), shell=True)
