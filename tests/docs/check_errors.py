#!/usr/bin/env python3
"""README's table of errors is what `moeplan validate` finds in the shipped tables, and its list
of what is not modelled is what the importers' tables say. MOEPLAN_REWRITE=1 writes both."""
import json
import os
import subprocess
import sys

BEGIN, END = "<!-- check_errors.py writes from here -->", "<!-- to here -->"

# table: what it is; quantities that predictions answer, as people say them, in order
TABLES = [
    ("seed000_primus_turbo", "DeepSeek-V3 on 64 MI355X, MaxText (calibrates `maxtext`)"),
    ("megatron_moe_memory_b200", "DeepSeek-V2, 4 layers, 8 B200, Megatron (calibrates `megatron`)"),
    ("megatron_golden_memory", "Megatron-LM's own functional tests"),
    ("memory_verdicts", "training runs that completed, Megatron-Bridge"),
    ("vllm_memory", "what vLLM printed while loading"),
    ("megatron_train_throughput", "DeepSeek-V3 and Qwen3-30B, ten releases of Megatron-Bridge"),
    ("moe_kernels_hopper", "experts' kernels on H100 and H200 (fitted)"),
    ("deepgemm_kernels", "DeepGEMM on H800 (fitted)"),
    ("ep_dispatch_combine", "DeepEP on H800 (fitted)"),
    ("collectives", "NCCL on H100, H200 and B200 (fitted)"),
]
QUANTITIES = {
    "memory.allocated_bytes": "peak allocated",
    "memory.reserved_bytes": "peak reserved",
    "memory.resident_bytes": "resident",
    "memory.temp_bytes": "temp of failed allocations",
    "serving.weights_bytes": "weights",
    "serving.activation_bytes": "activation peak",
    "serving.cache_bytes": "KV pool",
    "serving.cache_tokens": "tokens in it",
    "time.tokens_per_s_per_device": "tokens/s",
    "time.step_s": "seconds of a step",
    "all": "seconds",
}
FRAMEWORKS = ["megatron", "torchtitan", "maxtext", "deepspeed", "fsdp", "axolotl", "llamafactory",
              "slime", "automodel", "nemo-rl", "openrlhf", "swift", "megatron-swift", "vllm", "sglang",
              "trtllm", "unsloth", "trl"]


def moeplan(*arguments):
    done = subprocess.run([os.environ["MOEPLAN"], *arguments], capture_output=True, text=True,
                          check=True)
    return done.stdout


def percent(value):
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"


def told(verdicts):
    parts = []
    fits = sum(verdicts[k] for k in ("fits_as_fits", "fits_as_marginal", "fits_as_oom"))
    oom = sum(verdicts[k] for k in ("oom_as_fits", "oom_as_marginal", "oom_as_oom"))
    if fits:
        parts.append(f"{verdicts['fits_as_fits']} of {fits} that fit")
    if oom:
        parts.append(f"{verdicts['oom_as_oom']} of {oom} that ran out")
    marginal = verdicts["fits_as_marginal"] + verdicts["oom_as_marginal"]
    text = "told: " + ", ".join(parts) + (f"; {marginal} marginal" if marginal else "")
    if "balanced_accuracy" in verdicts:
        text += f"; balanced {verdicts['balanced_accuracy']:.2f}, always \"fits\" 0.50"
    return text


def table_of(name, title):
    found = json.loads(moeplan("validate", name, "--format", "json"))
    lines = []
    for verdicts in found["verdicts"]:
        lines.append(("verdict", str(verdicts["runs"]), told(verdicts)))
    families = [s["family"] for s in found["summaries"]]
    for summary in found["summaries"]:
        quantity = summary["family"]
        if "all" in families and quantity != "all":
            continue
        if "mean_percent" not in summary or not (quantity in QUANTITIES or len(families) == 1):
            continue
        error = (f"{percent(summary['mean_percent'])} % mean, "
                 f"{percent(summary['p90_percent'])} % nine of ten, "
                 f"bias {summary['bias_percent']:+.2g} %")
        lines.append((QUANTITIES.get(quantity, "seconds"), str(summary["values"]), error))
    return [f"| {title if i == 0 else ''} | {what} | {n} | {error} | "
            f"{f'`moeplan validate {name}`' if i == 0 else ''} |"
            for i, (what, n, error) in enumerate(lines)]


def not_modelled():
    """Folded: some two hundred options of eleven frameworks, which nobody reads in passing."""
    parts, count = [], 0
    for framework in FRAMEWORKS:
        flags = [line.split("  ")[0].split()[0]
                 for line in moeplan("import", "--flags", framework).splitlines()
                 if line.endswith("memory, not modelled")]
        flags = [flag for flag in flags if not any(f"`{flag}`" in part for part in parts)]
        if flags:
            parts.append(f"{framework}: " + ", ".join(f"`{flag}`" for flag in flags))
            count += len(flags)
    return ["", "<details>", f"<summary>Not modelled: {count} options of frameworks that matter to "
            "memory or time, each named as a warning where a job sets it (<code>moeplan import "
            "--flags vllm</code>)</summary>", ""] + \
        [f"* {part}" for part in parts] + ["", "</details>"]


def generated():
    lines = ["| data | value | n | error | repeat |", "|---|---|---|---|---|"]
    for name, title in TABLES:
        lines += table_of(name, title)
    return "\n".join(lines + not_modelled())


def main():
    path = os.path.join(sys.argv[1], "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN + "\n")
    now, after = rest.split("\n" + END)
    wanted = generated()
    if now == wanted:
        return 0
    if os.environ.get("MOEPLAN_REWRITE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + "\n" + wanted + "\n" + END + after)
        return 0
    print("README.md differs from what validate says today; MOEPLAN_REWRITE=1 takes it over:")
    print(wanted)
    return 1


if __name__ == "__main__":
    sys.exit(main())
