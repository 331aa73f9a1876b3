"""The installed package: python -m unittest test_package, with MOEPLAN_ROOT the source tree."""

import doctest
import glob
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest

import moeplan
from moeplan import __main__ as command

ROOT = os.environ["MOEPLAN_ROOT"]
EXAMPLES = sorted(glob.glob(os.path.join(ROOT, "examples", "*.yaml")))
SMALL = {"model": "mixtral-8x7b", "cluster": "h100-8x2", "stack": "megatron",
         "workload": {"sequence_length": 4096, "micro_batch": 1}, "parallel": {"tp": 2, "ep": 8}}


def binary(*arguments):
    return subprocess.run([command.BINARY, *arguments], stdout=subprocess.PIPE, check=False,
                          cwd=ROOT, stdin=subprocess.DEVNULL)


class Numbers(unittest.TestCase):
    def test_json_is_the_command_s(self):
        self.assertGreaterEqual(len(EXAMPLES), 10)
        for plan in EXAMPLES:
            with self.subTest(plan=os.path.basename(plan)):
                said = binary("predict", plan, "--format", "json").stdout.decode()
                self.assertEqual(moeplan.Plan.open(plan).predict().json, said)

    def test_values_by_name(self):
        result = moeplan.Plan(SMALL).predict()
        self.assertEqual(result.verdict, "oom")
        self.assertFalse(result.fits)
        self.assertEqual(result.total_bytes, result.memory.total_bytes)
        self.assertEqual(result["memory.margin_bytes"], result.data["memory"]["margin_bytes"])
        self.assertEqual(result["memory.buffers.0.name"], result.memory.buffers[0].name)
        self.assertEqual(sum(row["bytes"] for row in result.rows("memory.categories")),
                         result.total_bytes)
        self.assertEqual(result.rows("memory.no_such_list"), [])
        with self.assertRaises(KeyError):
            result["memory.no_such"]
        with self.assertRaises(AttributeError):
            result.memory.no_such

    def test_options_leave_parts_out(self):
        fast = moeplan.Plan(SMALL).predict(fixes=False, ops=False, experts=False, time=False)
        whole = moeplan.Plan(SMALL).predict()
        self.assertEqual(fast.total_bytes, whole.total_bytes)
        self.assertNotIn("ops", fast.data)
        self.assertNotIn("time", fast.data)
        self.assertIn("ops", whole.data)
        self.assertEqual(fast.rows("memory.fixes"), [])


class Keys(unittest.TestCase):
    def test_set_and_take_back(self):
        plan = moeplan.Plan(SMALL)
        one = plan.predict().total_bytes
        plan["workload.micro_batch"] = 3
        plan["moe.routing"] = {"distribution": "zipf", "alpha": 0.5}
        self.assertGreater(plan.predict().total_bytes, one)
        other = plan.copy()
        del plan["workload.micro_batch"]
        del plan["moe.routing"]
        self.assertEqual(plan.predict().total_bytes, one)
        self.assertGreater(other.predict().total_bytes, one)
        with self.assertRaises(KeyError):
            del plan["workload.micro_batch"]

    def test_errors_have_line_and_hint(self):
        with self.assertRaises(moeplan.PlanError) as raised:
            moeplan.Plan("model: deepseek-v3\ncluster: h100-8x2\nparalel: {}\n", "x.yaml").predict()
        error = raised.exception
        self.assertEqual((error.line, error.column, error.where), (3, 1, "x.yaml:3:1"))
        self.assertIn("parallel", error.hint)
        self.assertIsInstance(error, ValueError)
        plan = moeplan.Plan(SMALL)
        plan["parallel.ep"] = 7
        with self.assertRaises(moeplan.PlanError) as raised:
            plan.predict()
        self.assertIsNone(raised.exception.line)
        self.assertEqual(raised.exception.where, "parallel.ep=7")
        with self.assertRaises(moeplan.PlanError):
            moeplan.Plan.open("no such file")
        with self.assertRaises(moeplan.UsageError):
            plan[""] = 1
        with self.assertRaises(moeplan.UsageError):
            moeplan.Plan(SMALL).write("plan.doc")
        with self.assertRaises(moeplan.UsageError):
            list(moeplan.Plan(SMALL).frontier({"workload.micro_batch": []}))


class Sweeps(unittest.TestCase):
    def test_points_are_plans(self):
        plan = moeplan.Plan(SMALL)
        points = list(plan.frontier({"parallel.ep": [3, 8], "workload.micro_batch": "1..4"},
                                    cases={"a": {"recompute": "full"},
                                           "b": {"recompute": "none"}}))
        self.assertEqual(len(points), 16)
        self.assertEqual([p.values["case"] for p in points], ["a"] * 8 + ["b"] * 8)
        for point in points:
            row = point.row()
            if point.verdict == "invalid":
                self.assertEqual(point.values["parallel.ep"], "3")
                self.assertTrue(point.why)
                continue
            same = plan.replace({
                "recompute": {"a": "full", "b": "none"}[row["case"]],
                "workload.micro_batch": row["workload.micro_batch"]})
            self.assertEqual(same.predict(fixes=False).total_bytes, row["total_bytes"])

    def test_leaving_the_loop_stops_the_thread(self):
        before = threading.active_count()
        points = moeplan.Plan(SMALL).frontier({"workload.micro_batch": "1..500000"})
        self.assertEqual(next(points).values, {"workload.micro_batch": "1"})
        self.assertGreater(threading.active_count(), before)
        points.close()
        for _ in range(100):
            if threading.active_count() == before:
                return
            time.sleep(0.05)
        self.fail("the sweep goes on")

    def test_the_lock_is_released(self):
        """While one thread is in a search, another computes: it would wait for its end."""
        plan, ended, counted = moeplan.Plan(SMALL), threading.Event(), 0

        def search():
            plan.search(best=1)
            ended.set()

        thread = threading.Thread(target=search)
        thread.start()
        while not ended.is_set():
            counted += 1
        thread.join()
        self.assertGreater(counted, 1000)

    def test_search(self):
        found = moeplan.Plan(SMALL).search(fixed={"tp": 2, "cp": 1}, over={"pp": [1, 2]}, best=2)
        self.assertEqual(len(found.best), 2)
        self.assertTrue(all(hit["set"]["parallel.tp"] == 2 for hit in found.best))
        with self.assertRaises(moeplan.UsageError):
            moeplan.Plan(SMALL).search(fixed={"tpp": 2})

    def test_search_of_both_pools(self):
        plan = moeplan.Plan("model: qwen3-30b-a3b\ncluster: h200-2x1\nstack: sglang\n"
                            "workload: {mode: serve, concurrency: 64, input_length: 1000}\n"
                            "prefill: {parallel: {tp: 2}}\n")
        found = plan.search(fixed={"prefill.tp": 2, "pp": 1}, best=1)
        self.assertEqual(found.best[0]["set"]["prefill.parallel.tp"], 2)
        self.assertEqual(found.best[0].prefill.devices, 2)
        self.assertGreaterEqual(len(found.pareto), 1)


class Documents(unittest.TestCase):
    def test_writes(self):
        plan = moeplan.Plan(SMALL)
        again = moeplan.Plan(plan.write("plan.yaml"))
        self.assertEqual(again.predict().total_bytes, plan.predict().total_bytes)
        self.assertTrue(plan.write("report.html").startswith("<!DOCTYPE html>"))
        changed = plan.compare(plan.replace({"workload.micro_batch": 2}))
        self.assertIn("workload.micro_batch", json.dumps(changed))

    def test_catalogue(self):
        self.assertIn("deepseek-v3", [model.name for model in moeplan.models()])
        self.assertGreater(len(moeplan.clusters()), 10)
        self.assertIn("maxtext", [stack.name for stack in moeplan.stacks()])
        self.assertIn("properties", moeplan.schema())

    def test_docstrings_hold(self):
        results = doctest.testmod(moeplan)
        self.assertGreater(results.attempted, 5)
        self.assertEqual(results.failed, 0)


class Package(unittest.TestCase):
    def test_command(self):
        said = subprocess.run([os.path.join(os.path.dirname(sys.executable), "moeplan"),
                               "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertEqual(said.strip(), f"moeplan {moeplan.__version__}")

    def test_binaries_need_little(self):
        """manylinux_2_34: no version of the C library beyond, and no library besides it."""
        prefix = os.path.join(os.path.dirname(moeplan.__file__), "prefix")
        for file in ("bin/moeplan", "lib/libmoeplan.so.0"):
            with open(os.path.join(prefix, file), "rb") as stream:
                data = stream.read()
            versions = {(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", data)}
            self.assertTrue(versions)
            if os.uname().machine == "x86_64":
                self.assertLessEqual(max(versions), (2, 34), file)
            self.assertNotIn(b"libyaml-0.so", data)
            self.assertNotIn(os.fsencode(prefix), data)


if __name__ == "__main__":
    unittest.main()
