#!/usr/bin/env python3
"""What a call of the Python package costs beyond the same call in C: at most 20 us. Calls of
both are timed in turns in one process, on one library; built into the folder of the timed
programs, beside the calls in C (library_calls.c). A prediction takes milliseconds, whose noise
would hide the package's part: there a function that does nothing stands in for C's."""

import ctypes
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
LIBRARY = os.path.join(HERE, "..", "libmoeplan.so.0")
TURNS, GOAL_US = 41, 20

os.environ["MOEPLAN_SHARED_LIBRARY"] = os.path.realpath(LIBRARY)
sys.path.insert(0, os.path.join(os.environ.get("MOEPLAN_ROOT", os.getcwd()), "src", "python"))
sys.dont_write_bytecode = True
import moeplan  # noqa: E402

CALLED = ctypes.CDLL(os.path.join(HERE, "library_calls.so"))
PLAN = moeplan.Plan({"model": "mixtral-8x7b", "cluster": "h100-8x2", "stack": "megatron",
                     "workload": {"sequence_length": 4096, "micro_batch": 1},
                     "parallel": {"tp": 2, "ep": 8}})
RESULT = PLAN.predict()


def set_key():
    PLAN["workload.micro_batch"] = 2


def predict():
    PLAN.predict(fixes=False, ops=False, experts=False, time=False)


def stand_in():
    """Nothing in place of the prediction, with its types."""
    real, nothing = moeplan._lib.moeplan_predict, CALLED.library_calls_nothing
    nothing.restype, nothing.argtypes = real.restype, real.argtypes
    moeplan._lib.moeplan_predict = nothing


# in the order of library_calls.c: what, how many a turn
CALLS = [
    ("plan[key] = value", set_key, 2000),
    ("plan.copy()", PLAN.copy, 2000),
    ("plan.predict()", predict, 2000),
    ("result[whole number]", lambda: RESULT["memory.total_bytes"], 2000),
    ("result[real]", lambda: RESULT["intensity.flop_per_byte"], 500),
    ("result.verdict", lambda: RESULT.verdict, 2000),
]


def python_s(call, n):
    begin = time.thread_time()
    for _ in range(n):
        call()
    return (time.thread_time() - begin) / n


def main():
    c_s = CALLED.library_calls_s
    c_s.restype = ctypes.c_double
    missed = 0
    stand_in()
    for which, (name, call, n) in enumerate(CALLS):
        pairs = [(python_s(call, n), c_s(which, PLAN._handle, RESULT._handle, n))
                 for _ in range(TURNS)]
        over = 1e6 * statistics.median(python - c for python, c in pairs)
        c_us = 1e6 * statistics.median(c for _, c in pairs)
        met = over <= GOAL_US
        missed += not met
        what = f"python {name}, over C's {c_us:.4g} us"
        print(f"{what:<48} {over:10.4g} {'us':<12} <= {GOAL_US} {'reached' if met else 'MISSED'}",
              flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
