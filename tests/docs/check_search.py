"""Holds every layout that `search` lists against `predict` with its settings, those of several
values of other keys too, and the best of `search --devices` against that of a search on as many
nodes.

usage: check_search.py MOEPLAN PLAN...
"""

import csv
import io
import json
import subprocess
import sys

FITS_NOT = 4
RECOMPUTE = "recompute.kind"
OTHERS = ["--over=memory.fraction=0.7,0.85", "--over=moe.routing.distribution=uniform,zipf"]


def output(*command):
    """The JSON of a command that may end with "does not fit"; ends the test otherwise."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, FITS_NOT):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def differs(hit, said):
    memory, step_s = said["memory"], said["time"]["step_s"]
    return (
        hit["total_bytes"] != memory["total_bytes"]
        or hit["limit_bytes"] != memory["limit_bytes"]
        or hit["verdict"] != memory["verdict"]
        or abs(step_s / hit["step_s"] - 1) > 1e-9
    )


def check(moeplan, plan, found):
    """Layouts checked, and how many of them are another plan's."""
    hits, wrong = found["best"][:6] + found["pareto"][:6], 0
    for hit in hits:
        sets = [f"--set={key}={word(value)}" for key, value in hit["set"].items()]
        said = output(moeplan, "predict", plan, "--format", "json", *sets)
        if differs(hit, said):
            print(plan, hit["set"], hit["total_bytes"], said["memory"]["total_bytes"])
            wrong += 1
    return len(hits), wrong


def fewer(found):
    """Options that leave a third of a training plan's layouts, for the searches beside the first."""
    return [
        f"--fix={RECOMPUTE}={hit['set'][RECOMPUTE]}"
        for hit in found["best"][:1]
        if RECOMPUTE in hit["set"]
    ]


def sizes_differ(moeplan, plan, found):
    """Whether twice the nodes are searched otherwise by --devices than by the plan's own key."""
    ranks, less = found["ranks"], fewer(found)
    command = [moeplan, "search", plan, "--format", "csv", f"--devices={2 * ranks}", *less]
    sized = subprocess.run(command, capture_output=True, text=True, check=False)
    if sized.returncode not in (0, FITS_NOT):
        sys.exit(f"{' '.join(command)}: {sized.stderr}")
    row = next(csv.DictReader(io.StringIO(sized.stdout)))
    nodes = f"--set=cluster.nodes={2 * ranks // 8}"
    found = output(moeplan, "search", plan, "--format", "json", "--best=1", nodes, *less)
    hit = (found["best"] or [found.get("nearest")])[0]
    if int(row["total_bytes"]) == hit["total_bytes"]:
        return False
    print(plan, "--devices", row, hit["set"], hit["total_bytes"])
    return True


def main(moeplan, *plans):
    found = {plan: output(moeplan, "search", plan, "--format", "json") for plan in plans}
    counts = [check(moeplan, plan, found[plan]) for plan in plans]
    others = [
        output(moeplan, "search", plan, "--format", "json", *OTHERS, *fewer(found[plan]))
        for plan in plans
    ]
    counts += [check(moeplan, plan, each) for plan, each in zip(plans, others)]
    checked, wrong = (sum(column) for column in zip(*counts))
    wrong += sum(sizes_differ(moeplan, plan, found[plan]) for plan in plans)
    print(f"{checked} layouts of {len(plans)} plans, {wrong} are not what predict says")
    return wrong > 0 or checked < 8 * len(plans)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
