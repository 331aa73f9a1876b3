"""A Chrome trace as predict and run write it: JSON with the members that Perfetto reads; on a
track spans follow one another, on `tasks` or `steps` too; nothing begins before 0 or ends after
the end that the trace states, and something ends there. Usage: check_trace.py TRACE.json...; a
TRACE.out beside one is predict's result, whose step ends then.
"""
import json
import os
import sys

TOLERANCE_NS = 2  # a task's spans are rounded one by one


def nanoseconds(value):
    return round(value * 1000)


def check(path, seconds=None):
    with open(path) as file:
        trace = json.load(file)
    end = trace["otherData"]["end_ns"]
    events = trace["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M"}
    tracks = {}
    for event in events:
        if event["ph"] == "M":
            continue
        assert event["ph"] == "X" and event["name"], event
        assert (event["pid"], event["tid"]) in named, f"a track without a name: {event}"
        begin = nanoseconds(event["ts"])
        tracks.setdefault((event["pid"], event["tid"]), []).append(
            (begin, begin + nanoseconds(event["dur"]), event["name"]))
    assert tracks, "no spans"
    last = 0
    for track, spans in tracks.items():
        before = (0, 0, "")
        for span in sorted(spans):
            assert span[0] + TOLERANCE_NS >= before[1], f"{track}: {before} and {span} overlap"
            before = span
            last = max(last, span[1])
    assert last <= end + TOLERANCE_NS, f"{path}: a span ends at {last}, the step at {end}"
    assert last >= end - max(TOLERANCE_NS, end * 1e-6), f"{path}: ends at {last}, not {end}"
    if seconds is not None:
        assert abs(end * 1e-9 / seconds - 1) < 1e-6, f"{path}: {end} ns, step_s {seconds}"
    return sum(map(len, tracks.values()))


def step_seconds(path):
    with open(path) as file:
        return json.load(file)["time"]["step_s"]


if __name__ == "__main__":
    for path in sys.argv[1:]:
        result = path.removesuffix(".json") + ".out"
        check(path, step_seconds(result) if os.path.exists(result) else None)
