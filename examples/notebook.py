"""A notebook as a script: which dispatcher carries the largest micro-batch, and at what cost?

    pip install build/python/*.whl pandas matplotlib
    python examples/notebook.py [FOLDER]

Each part is a cell (# %%) of editors that know them. The chart goes to FOLDER/frontier.png.
"""

# %% A plan, as the plan file has it
import os
import sys

import matplotlib
import pandas

import moeplan

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)

plan = moeplan.Plan({
    "model": "deepseek-v3",
    "cluster": "mi355x-8x8",
    "stack": "maxtext",
    "workload": {"mode": "train", "sequence_length": 4096, "micro_batch": 10},
    "parallel": {"ep": 8, "zero": 3},
    "moe": {"path": "deepep"},
    "recompute": "full",
})
result = plan.predict()
print(result)

# %% What holds the memory, and what would make it fit
buffers = pandas.DataFrame(result.rows("memory.buffers"))
by_category = buffers[buffers.at_peak].groupby("category").bytes.sum().sort_values()
print((by_category / 2**30).round(2).to_string())
fixes = pandas.DataFrame(result.rows("memory.fixes"))
print(fixes[["set", "kind", "verdict", "note"]].to_string(index=False))

# %% Every micro-batch on three dispatchers
points = plan.frontier(
    {"workload.micro_batch": range(1, 25)},
    cases={path: {"moe.path": path} for path in ("capacity", "deepep", "ragged_a2a")})
sweep = pandas.DataFrame(point.row() for point in points)
fitting = sweep[sweep.verdict != "oom"].groupby("case")["workload.micro_batch"].max()
print(fitting.to_string())

# %% The chart
figure, axes = pyplot.subplots(figsize=(8, 4.5))
for case, rows in sweep.groupby("case"):
    axes.plot(rows["workload.micro_batch"], rows.total_bytes / 2**30, marker=".", label=case)
axes.axhline(sweep.limit_bytes.max() / 2**30, color="black", linestyle="--", label="limit")
axes.set_xlabel("micro-batch")
axes.set_ylabel("GiB of a rank")
axes.set_title("deepseek-v3 on mi355x-8x8: where memory runs out")
axes.legend()
figure.tight_layout()
figure.savefig(os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "frontier.png"), dpi=120)

# %% The same question to the search: layouts that fit, cheapest first
for layout in plan.search(fixed={"tp": 1, "pp": 1, "cp": 1}, best=3).best:
    keys = layout["set"]
    print(layout.verdict, f"{layout.total_bytes / 2**30:.1f} GiB",
          {name: keys[name] for name in ("parallel.ep", "moe.path", "workload.micro_batch")})
