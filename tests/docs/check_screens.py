"""First screens and their fixes; see check_screens.sh."""
import json
import os
import re
import shlex
import subprocess
import sys

moeplan = sys.argv[1]
LINES, COLUMNS = 25, 100
environment = dict(os.environ, LC_ALL="C")

SERVE = "mode: serve, concurrency: {}, input_length: {}, output_length: {}"
# model, cluster, stack, workload, parallel, what its screen says (expressions)
PLANS = [
    ("qwen3-235b-a22b", "h100-8x16", "megatron",
     "micro_batch: 1, global_batch: 1024", "tp: 4, pp: 4, ep: 16, etp: 1",
     [r"OOM probability 1 per step; "]),
    ("deepseek-v2-lite", "a100-8x1", "torchtitan", "micro_batch: 4", "ep: 8", []),
    ("llama-3.1-70b", "h100-8x4", "fsdp", "sequence_length: 8192, micro_batch: 2", "", []),
    # one chip of a slice: a larger slice is what fits
    ("mixtral-8x22b", "tpu-v5p", "maxtext", "sequence_length: 8192, micro_batch: 2", "",
     [r"more devices .*--set cluster.node.devices="]),
    ("phi-3.5-moe", "tpu-v6e-2x2", "maxtext", "micro_batch: 1", "",
     [r"more devices .*--set cluster.mesh=\["]),
    # its chances take half a line
    ("qwen3-next-80b-a3b", "h200-8x2", "deepspeed", "micro_batch: 1", "ep: 8, zero: 3",
     [r"^OOM probability < .*;\n  expected "]),
    ("glm-4.5-air", "mi300x-8x4", "primus", "micro_batch: 2, global_batch: 256",
     "pp: 4, ep: 8", [r"pp crosses\s+nodes; stages of 2 x 12, 2 x 11 layers"]),
    ("llama4-scout", "trn2-16x1", "nxd",
     "mode: decode, micro_batch: 16, context_length: 8192", "tp: 8", []),
    ("jamba-1.5-large", "h100-8x8", "generic", "sequence_length: 8192", "tp: 8, ep: 8", []),
    ("kimi-k2", "h200-8x2", "vllm", SERVE.format(128, 4096, 512), "tp: 16", []),
    ("glm-4.6", "h100-8x1", "sglang",
     "mode: decode, micro_batch: 64, context_length: 16384", "tp: 8",
     [r"more devices .*--set workload.micro_batch=32"]),
    # no experts, so no group of theirs
    ("llama-3.1-405b", "h100-8x2", "trtllm",
     "mode: prefill, sequence_length: 8192, micro_batch: 1", "tp: 16",
     [r"; tp\s+crosses\s+nodes"]),
    # what decides here is said by a note
    ("nemotron-3-super", "b200-8x1", "trtllm", SERVE.format(64, 8192, 1024), "tp: 8, ep: 8",
     [r"notes .*prompts of 8192 tokens wait"]),
    ("deepseek-v3", "h100-8x1", "vllm", SERVE.format(64, 2048, 256), "tp: 8",
     [r"serving   the engine does not start: weights and a profile run leave nothing to its"]),
    ("qwen3-32b", "a100-40gb-8x1", "megatron", "micro_batch: 1, global_batch: 64", "tp: 8", []),
    # offloading is no reason to say nothing of more devices
    ("mixtral-8x7b", "h100", "fsdp", "micro_batch: 1", "",
     [r"costs throughput .*optimizer.offload", r"more devices .*cluster.node.devices=8"]),
    # four kinds of fixes, of two and three settings each
    ("nemotron-3-super", "b200-8x8", "megatron", "sequence_length: 2048, micro_batch: 4",
     "ep: 4, pp: 4", []),
    ("dbrx", "h100-8x4", "deepspeed", "micro_batch: 1", "ep: 4, zero: 2", []),
    # a list that no line holds
    ("llama-3.1-405b", "h100-8x16", "megatron", "sequence_length: 8192", "pp: 16", []),
    ("gpt-oss-120b", "rtx4090", "vllm", SERVE.format(16, 2048, 256), "", []),
]


def call(options, plan):
    done = subprocess.run([moeplan, "predict", "-", *options], input=plan,
                          capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 4):
        sys.exit(f"{plan}{options}\n{done.stderr}")
    return done.stdout


def shown(screen):
    """Every fix of a screen as a shell reads it: the words behind --set, and its bytes."""
    part = re.search(r"^what makes it fit\s+(\S+).*\n((?:  .*\n)*)", screen, re.MULTILINE)
    unit = {"GiB": 2**30, "MiB": 2**20, "TiB": 2**40}
    fixes = re.split(r"\n(?=  .{18} *[\d.]+  (?:fits|marginal) )", "\n" + part[2]) if part else [""]
    for fix in fixes[1:]:
        words = shlex.split(re.sub(r"  drops \S+ %", "", fix))
        at = words.index("--set")
        yield words[at:], float(words[at - 2]) * unit[part[1]]


def check(plan, says):
    """What is wrong with a plan's screen, line by line."""
    screen = call([], plan)
    lines = screen.splitlines()
    if len(lines) > LINES:
        yield f"{len(lines)} lines"
    for line in lines:
        if len(line) > COLUMNS:
            yield f"{len(line)} columns: {line}"
    for expression in says:
        if not re.search(expression, screen, re.MULTILINE):
            yield f"does not say {expression}:\n{screen}"
    for options, size in shown(screen):
        other = json.loads(call(options + ["--format", "json"], plan))["memory"]
        if other["verdict"] == "oom" or abs(other["total_bytes"] - size) > 0.01 * size:
            yield f"{options}: {other['verdict']}, {other['total_bytes']} for {size}"
    memory = json.loads(call(["--format", "json"], plan))["memory"]
    for fix in memory.get("fixes", []):
        options = [part for setting in fix["set"].split(" ") for part in ("--set", setting)]
        other = json.loads(call(options + ["--format", "json"], plan))["memory"]
        if other["verdict"] == "oom" or other["total_bytes"] != fix["total_bytes"]:
            yield f"{fix['set']}: {other['verdict']}, {other['total_bytes']} for {fix}"


failed = 0
for model, cluster, stack, workload, parallel, says in PLANS:
    text = (f"model: {model}\ncluster: {cluster}\nstack: {stack}\n"
            f"workload: {{{workload}}}\nparallel: {{{parallel}}}\n")
    for problem in check(text, says):
        failed += 1
        print(f"{model} on {cluster}, {stack}: {problem}")
print(f"{len(PLANS)} screens, {failed} problems")
sys.exit(failed > 0)
