"""Plans of Mixture-of-Experts models, predicted: does it fit, what is in the way, what helps.

    >>> import moeplan
    >>> plan = moeplan.Plan({"model": "deepseek-v3", "cluster": "mi355x-8x8",
    ...                      "stack": "maxtext", "recompute": "full",
    ...                      "workload": {"sequence_length": 4096, "micro_batch": 10},
    ...                      "parallel": {"ep": 8, "zero": 3}, "moe": {"path": "deepep"}})
    >>> result = plan.predict()
    >>> result.verdict
    'oom'
    >>> smaller = plan.replace({"workload.micro_batch": 4}).predict()
    >>> smaller.verdict, smaller.total_bytes < result.total_bytes
    ('fits', True)
    >>> [point.verdict for point in plan.frontier({"workload.micro_batch": [4, 16]})]
    ['fits', 'oom']

Numbers are those of the command `moeplan`: names are the JSON's, bytes are whole numbers.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from ctypes import (byref, c_double, c_size_t, c_uint64, c_void_p, create_string_buffer,
                    string_at)
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from . import _library
from ._library import MoeplanError, OutOfMemoryError, PlanError, UsageError

__all__ = ["Plan", "Point", "Record", "Result", "MoeplanError", "OutOfMemoryError", "PlanError",
           "UsageError", "clusters", "models", "schema", "stacks"]

_lib = _library.library
__version__: str = _lib.moeplan_version().decode()

_BATCH = 256  # points that cross from the sweeping thread at once
_AHEAD = 8  # such batches that wait for a slow reader


class Record(dict):
    """A JSON object whose members are attributes too: record.memory.total_bytes. What does not
    apply to a plan is absent."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no member {name!r}; there are: {', '.join(self)}") from None


class Point(NamedTuple):
    """One point of a frontier. `values` are those of the axes, as texts; bytes are zero and
    `why` says the reason where the verdict is "invalid"."""

    values: dict[str, str]
    verdict: str
    total_bytes: int
    limit_bytes: int
    state_bytes: int
    temp_bytes: int
    wall: str
    why: str

    def row(self) -> dict[str, Any]:
        """A flat dictionary, as pandas.DataFrame takes rows."""
        row: dict[str, Any] = {name: _number(text) for name, text in self.values.items()}
        row.update(zip(self._fields[1:], self[1:]))
        return row


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _text(value: Any) -> str:
    """A value as --set takes it."""
    if isinstance(value, str):
        return value
    return json.dumps(value)


class Result:
    """A prediction. `result.memory.total_bytes` and so on are the members of
    `moeplan predict --format json`; `data` is all of it."""

    def __init__(self, handle: c_void_p):
        self._handle, self._data = handle, None

    def __del__(self):
        if getattr(self, "_handle", None):
            _lib.moeplan_result_free(self._handle)

    @property
    def json(self) -> str:
        """The text that the command writes."""
        length = c_size_t()
        text = _lib.moeplan_result_json(self._handle, byref(length))
        return string_at(text, length.value).decode()

    @property
    def data(self) -> Record:
        """All of it, read once."""
        if self._data is None:
            self._data = json.loads(self.json, object_hook=Record)
        return self._data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.data, name)

    def _number(self, name: str) -> int | float | None:
        """Looked up once: most whole numbers are doubles, too."""
        key, whole, real = name.encode(), c_uint64(), c_double()
        if not _lib.moeplan_result_real(self._handle, key, byref(real)):
            return None
        value = real.value
        if abs(value) < 2**53:
            return int(value) if value.is_integer() else value
        return whole.value if _lib.moeplan_result_count(self._handle, key, byref(whole)) else value

    def __getitem__(self, name: str) -> Any:
        """A whole number, a real or a text by its dotted name: result["memory.total_bytes"];
        KeyError when there is none."""
        value = self._number(name) if self._data is None else None
        if value is not None:
            return value
        value = self.data
        for part in name.split("."):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise KeyError(name) from None
        return value

    @property
    def verdict(self) -> str:
        """"fits", "marginal" (within the stack's stated error of the limit) or "oom"."""
        word = create_string_buffer(16)
        _lib.moeplan_result_text(self._handle, b"memory.verdict", word, 16)
        return word.value.decode()

    @property
    def fits(self) -> bool:
        """Whether the verdict is not "oom"."""
        return self.verdict != "oom"

    @property
    def total_bytes(self) -> int:
        """What the verdict compares with the limit: worst case or p99, see memory.sizing."""
        return self["memory.total_bytes"]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A list of the JSON as flat dictionaries, for pandas.DataFrame: "memory.buffers",
        "memory.categories", "memory.fixes", "ops"."""
        found = self.data
        for part in name.split("."):
            found = found.get(part, [] if part == name.split(".")[-1] else {})
        return [dict(row) for row in found]

    def __repr__(self) -> str:
        return (f"<moeplan.Result {self.verdict}: {self.total_bytes / 2**30:.2f} of "
                f"{self['memory.limit_bytes'] / 2**30:.2f} GiB>")


class Plan:
    """A plan, and keys set besides.

    source: a mapping as the plan file has it, or such a file's text. `Plan.open` reads files:
    plans, jobs of frameworks, a config.json. Keys are set as plan["workload.micro_batch"] = 4
    and taken back with del; whether they are right shows when the plan is asked about."""

    def __init__(self, source: Mapping[str, Any] | str, name: str = "plan"):
        text = source if isinstance(source, str) else json.dumps(source, indent=1)
        data, self._handle, error = text.encode(), c_void_p(), _library.Error()
        _library.check(_lib.moeplan_open_text(name.encode(), data, len(data),
                                              byref(self._handle), byref(error)), error)

    @classmethod
    def _of(cls, handle: c_void_p) -> Plan:
        plan = cls.__new__(cls)
        plan._handle = handle
        return plan

    @classmethod
    def open(cls, file: str | os.PathLike[str]) -> Plan:
        """A file that `moeplan predict` takes."""
        handle, error = c_void_p(), _library.Error()
        _library.check(_lib.moeplan_open_file(os.fsencode(file), byref(handle), byref(error)),
                       error)
        return cls._of(handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            _lib.moeplan_close(self._handle)

    def __setitem__(self, key: str, value: Any) -> None:
        error = _library.Error()
        _library.check(_lib.moeplan_set(self._handle, key.encode(), _text(value).encode(),
                                        byref(error)), error)

    def __delitem__(self, key: str) -> None:
        if not _lib.moeplan_unset(self._handle, key.encode()):
            raise KeyError(key)

    def copy(self) -> Plan:
        """The same text and keys, to be changed apart."""
        handle, error = c_void_p(), _library.Error()
        _library.check(_lib.moeplan_copy(self._handle, byref(handle), byref(error)), error)
        return self._of(handle)

    def replace(self, keys: Mapping[str, Any]) -> Plan:
        """A copy with these keys set."""
        plan = self.copy()
        for key, value in keys.items():
            plan[key] = value
        return plan

    def predict(self, *, exact: bool = False, fixes: bool = True, ops: bool = True,
                experts: bool = True, time: bool = True, workers: int = 0) -> Result:
        """The prediction. exact: sample routing token by token even where a law is close.
        Without fixes, ops, experts and time it is many times faster. workers: threads that a run
        would have (stack host)."""
        flags = exact | (not fixes) << 1 | (not ops) << 2 | (not experts) << 3 | (not time) << 4
        handle, error = c_void_p(), _library.Error()
        options = _library.Options(flags, workers)
        _library.check(_lib.moeplan_predict(self._handle, byref(options), byref(handle),
                                            byref(error)), error)
        return Result(handle)

    def frontier(self, over: Mapping[str, Any], cases: Mapping[str, Mapping[str, Any]] | None = None
                 ) -> Iterator[Point]:
        """Points of a sweep, in order, the last key fastest. over: a key's values, any iterable
        or a text such as "1..64*2"; cases: settings by the name of the case, one axis before
        the others. The sweep runs in a thread of its own without the interpreter's lock, ahead
        of the reader; leaving the loop stops it."""
        return _Frontier(self, dict(over), dict(cases or {}))

    def search(self, fixed: Mapping[str, Any] | None = None,
               over: Mapping[str, Any] | None = None, at_most: str | None = None,
               best: int = 10, objective: str | None = None,
               limits: Mapping[str, str] | None = None, marginal: bool = False) -> Record:
        """Layouts that fit the cluster, fastest first: `best`, `pareto`, and how many were
        tried. fixed: keys to keep ({"ep": 8}); over: values to try, of any key of the plan;
        at_most: "200GiB"; marginal: list what is within the stack's error of the limit, too. Of a
        served plan: objective "tokens", "tpot", "ttft" or "memory"; limits {"tpot": "50ms"}; one
        with a part `prefill` is searched for pairs of layouts of both pools, whose keys are
        prefill.tp and tp ("pools" of describe)."""
        fixed_texts, n_fixed = _library.strings(_axis(k, [v]) for k, v in (fixed or {}).items())
        over_texts, n_over = _library.strings(_axis(k, v) for k, v in (over or {}).items())
        limit = f"memory={at_most}".encode() if at_most else None
        limit_texts, n_limits = _library.strings(f"{k}={v}" for k, v in (limits or {}).items())
        ask = _library.Search(over_texts, n_over, fixed_texts, n_fixed, limit, best, None, None,
                              objective.encode() if objective else None, limit_texts, n_limits,
                              marginal)
        return json.loads(_library.text_of(_lib.moeplan_find, self._handle, byref(ask)),
                          object_hook=Record)

    def compare(self, other: Plan) -> Record:
        """What the other plan changes: keys, bytes by category and buffer, work by op."""
        text = _library.text_of(_lib.moeplan_compare, self._handle, other._handle)
        return json.loads(text, object_hook=Record)

    def write(self, document: str) -> str:
        """A text about the plan: "plan.yaml", "plan.json", "predict.txt", "predict.csv",
        "predict.json", "report.html", "timeline.json" (a layer and a step along time),
        "trace.json" (the step as a Chrome trace), or "launch", its stack's own flags."""
        return _library.text_of(_lib.moeplan_write, self._handle, document.encode())


def _axis(key: str, values: Any) -> str:
    """An axis as --over takes it."""
    if isinstance(values, str):
        return f"{key}={values}"
    return f"{key}={','.join(_text(value) for value in values)}"


class _Frontier(Iterator[Point]):
    """The points of a sweep that a thread makes."""

    def __init__(self, plan: Plan, over: dict, cases: dict):
        self._plan = plan.copy()
        self._names = (["case"] if cases else []) + list(over)
        self._overs = [_axis(key, values) for key, values in over.items()]
        self._cases = [f"{name}:" + ",".join(f"{k}={_text(v)}" for k, v in keys.items())
                       for name, keys in cases.items()]
        self._queue: queue.Queue = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._batch: Iterator[Point] = iter(())
        self._done = False
        self._thread = threading.Thread(target=self._sweep, daemon=True)
        self._thread.start()

    def _put(self, item: Any) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def _sweep(self) -> None:
        batch: list[Point] = []

        def take(_context, at) -> int:
            point = at.contents
            values = {name: point.values[i].decode() for i, name in enumerate(self._names)}
            batch.append(Point(values, point.verdict.decode(), point.total_bytes,
                               point.limit_bytes, point.state_bytes, point.temp_bytes,
                               point.wall.decode(), point.why.decode()))
            if len(batch) < _BATCH:
                return 0
            full, batch[:] = batch[:], []
            return not self._put(full)

        overs, n_overs = _library.strings(self._overs)
        cases, n_cases = _library.strings(self._cases)
        axes, error = _library.Axes(overs, n_overs, cases, n_cases), _library.Error()
        status = _lib.moeplan_sweep(self._plan._handle, byref(axes), _library.OnPoint(take), None,
                                    byref(error))
        self._put(batch)
        self._put((status, error))

    def __next__(self) -> Point:
        for point in self._batch:
            return point
        if self._done:
            raise StopIteration
        item = self._queue.get()
        if isinstance(item, tuple):
            self._done = True
            _library.check(*item)
            raise StopIteration
        self._batch = iter(item)
        return self.__next__()

    def close(self) -> None:
        """Ends the sweep; the thread stops at its next point."""
        self._stopped.set()

    def __del__(self):
        if hasattr(self, "_stopped"):
            self.close()


def _describe(what: str) -> Any:
    return json.loads(_library.text_of(_lib.moeplan_describe, what.encode()), object_hook=Record)


def models() -> list[Record]:
    """The models that a plan can name: name, summary."""
    return _describe("models")


def clusters() -> list[Record]:
    """The clusters; <device>-<devices per node>x<nodes> is made from any of them."""
    return _describe("clusters")


def stacks() -> list[Record]:
    """The software stacks."""
    return _describe("stacks")


def schema(what: str = "plan") -> Record:
    """JSON Schema of "plan" or "result"."""
    return _describe(what)
