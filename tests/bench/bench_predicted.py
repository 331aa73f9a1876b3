#!/usr/bin/env python3
"""What `run` takes beside what it was predicted to take, by the profile that `probe` measures on
this machine: every path, forward with three skews of routing and, where the path has one,
backward. The layer is to be within 15 % of its prediction, every op of 5 % of it or more within
25 %. Each path begins with a probe of its own: clocks drift."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

MOEPLAN = os.environ.get("MOEPLAN", os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                                 "..", "moeplan"))
PLAN = os.path.join(os.environ.get("MOEPLAN_ROOT", os.getcwd()), "tests", "plans", "timed.yaml")
LAYER, OP, SHARE = 0.15, 0.25, 0.05
CASES = [(skew, []) for skew in ("uniform", "zipf", "hot_rank")] + [("uniform", ["--backward"])]
NO_BACKWARD = ("deepep_ll",)


def moeplan(*arguments):
    return subprocess.run([MOEPLAN, *arguments], capture_output=True, text=True, check=True).stdout


def run(path, skew, options):
    """Layer's error, then (error, what) of the op of some size that is furthest off."""
    said = json.loads(moeplan("run", "plan.yaml", "--format", "json", *options,
                              "--set", f"moe.path={path}",
                              "--set", f"moe.routing.distribution={skew}"))
    if said["verdict"] != "agrees":
        sys.exit(f"{path}, {skew}: {said['verdict']}")
    whole = said["time"]["measured_s"]
    ops = [(op["ratio"] - 1, f"{op['name']} {op['phase']}, {skew}") for op in said["ops"]
           if op["measured_s"] >= SHARE * whole]
    return said["time"]["ratio"] - 1, whole, max(ops, key=lambda op: abs(op[0]))


def row(name, error, goal, what):
    reached = abs(error) <= goal
    print(f"{name:<48} {100 * error:>+10.3g} {'%':<12} <= {100 * goal:<8.4g} "
          f"{'reached' if reached else 'MISSED'}{what}", flush=True)
    return not reached


def main():
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copy(PLAN, "plan.yaml")
        for path in (line.split(",")[0] for line in moeplan("list", "paths", "--format", "csv")
                     .splitlines() if line.split(",")[0] not in ("name", "auto")):
            moeplan("probe", "--cluster", "here.yaml", "--profile", "here-profile.yaml", "--force")
            cases = [run(path, *case) for case in CASES if path not in NO_BACKWARD or not case[1]]
            layer = max((error for error, _, _ in cases), key=abs)
            op = max((op for _, _, op in cases), key=lambda op: abs(op[0]))
            took = min(whole for _, whole, _ in cases)
            missed += row(f"layer over its prediction, {path}", layer, LAYER,
                          f"  ({len(cases)} cases of {1e3 * took:.0f} ms or more)")
            missed += row(f"op over its prediction, {path}", op[0], OP, f"  ({op[1]})")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
