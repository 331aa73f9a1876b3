"""libmoeplan through ctypes: the declarations of moeplan.h, and errors as exceptions."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64
from ctypes import c_void_p

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_NAME = "libmoeplan.so.0"


class MoeplanError(Exception):
    """What moeplan refuses: `text` says what is wrong, `hint` what to do, `where` the place
    ("plan.yaml:3:10", "workload.micro_batch=0"), `line` and `column` count from 1 (None: the
    place has none)."""

    def __init__(self, status: int, where: str, text: str, hint: str,
                 line: int | None = None, column: int | None = None):
        super().__init__((where + ": " if where else "") + text +
                         ("\n  hint: " + hint if hint else ""))
        self.status, self.where, self.text, self.hint = status, where, text, hint
        self.line, self.column = line, column


class UsageError(MoeplanError, ValueError):
    """A call that makes no sense: a name that there is not."""


class PlanError(MoeplanError, ValueError):
    """A bad plan, key, value or data file."""


class OutOfMemoryError(MoeplanError, MemoryError):
    """Memory ran out, or a file could not be written; nothing was kept."""


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("line", c_uint), ("column", c_uint), ("where", c_char * 512),
                ("text", c_char * 1024), ("hint", c_char * 1024)]


class Options(ctypes.Structure):
    _fields_ = [("flags", c_uint), ("workers", c_uint)]


class Search(ctypes.Structure):
    _fields_ = [("overs", POINTER(c_char_p)), ("n_overs", c_size_t), ("fixed", POINTER(c_char_p)),
                ("n_fixed", c_size_t), ("at_most", c_char_p), ("best", c_size_t),
                ("progress", c_void_p), ("context", c_void_p), ("objective", c_char_p),
                ("limits", POINTER(c_char_p)), ("n_limits", c_size_t),
                ("marginal", c_int)]


class Point(ctypes.Structure):
    _fields_ = [("number", c_uint64), ("points", c_uint64), ("n_values", c_size_t),
                ("values", POINTER(c_char_p)), ("verdict", c_char_p), ("total_bytes", c_uint64),
                ("limit_bytes", c_uint64), ("state_bytes", c_uint64), ("temp_bytes", c_uint64),
                ("wall", c_char_p), ("why", c_char_p)]


class Axes(ctypes.Structure):
    _fields_ = [("overs", POINTER(c_char_p)), ("n_overs", c_size_t), ("cases", POINTER(c_char_p)),
                ("n_cases", c_size_t)]


OnPoint = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Point))
_TEXT = [POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)]

_SIGNATURES = {
    "version": (c_char_p, []),
    "free": (None, [c_void_p]),
    "open_file": (c_int, [c_char_p, POINTER(c_void_p), POINTER(Error)]),
    "open_text": (c_int, [c_char_p, c_char_p, c_size_t, POINTER(c_void_p), POINTER(Error)]),
    "copy": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "close": (None, [c_void_p]),
    "set": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(Error)]),
    "unset": (c_int, [c_void_p, c_char_p]),
    "predict": (c_int, [c_void_p, POINTER(Options), POINTER(c_void_p), POINTER(Error)]),
    "result_free": (None, [c_void_p]),
    "result_json": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "result_count": (c_int, [c_void_p, c_char_p, POINTER(c_uint64)]),
    "result_real": (c_int, [c_void_p, c_char_p, POINTER(c_double)]),
    "result_text": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "result_length": (c_int, [c_void_p, c_char_p, POINTER(c_size_t)]),
    "write": (c_int, [c_void_p, c_char_p] + _TEXT),
    "compare": (c_int, [c_void_p, c_void_p] + _TEXT),
    "describe": (c_int, [c_char_p] + _TEXT),
    "find": (c_int, [c_void_p, POINTER(Search)] + _TEXT),
    "sweep": (c_int, [c_void_p, POINTER(Axes), OnPoint, c_void_p, POINTER(Error)]),
}


def _load() -> ctypes.CDLL:
    """The package's own copy; $MOEPLAN_SHARED_LIBRARY names another."""
    own = os.path.join(_FOLDER, "prefix", "lib", _NAME)
    library = ctypes.CDLL(os.environ.get("MOEPLAN_SHARED_LIBRARY") or own)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, "moeplan_" + name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()
STOPPED = 8
_KINDS = {2: UsageError, 3: PlanError, 6: OutOfMemoryError}


def check(status: int, error: Error) -> None:
    """Raises what a call that failed said."""
    if status == 0:
        return
    texts = [part.decode(errors="replace") for part in (error.where, error.text, error.hint)]
    raise _KINDS.get(status, MoeplanError)(status, *texts, error.line or None,
                                           error.column or None)


def text_of(function, *arguments) -> str:
    """A call that hands out a text."""
    text, length, error = c_void_p(), c_size_t(), Error()
    check(function(*arguments, byref(text), byref(length), byref(error)), error)
    try:
        return ctypes.string_at(text.value, length.value).decode()
    finally:
        library.moeplan_free(text)


def strings(texts) -> tuple:
    """An array of C strings, and their number."""
    encoded = [text.encode() for text in texts]
    return (c_char_p * len(encoded))(*encoded), len(encoded)
