"""Assertions of ``tf.debugging`` and of TensorFlow 1: each with arguments that it must refuse."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.testing.samples import Entry, Refusal, Sample
from runners.tensorflow.samples import host_tensors

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"

_DTYPE = "float32"
_ONE, _OTHER = np.array([1, 2, 4], _DTYPE), np.array([1, 3, 3], _DTYPE)
_VIOLATED: Mapping[str, Sequence[Any]] = {
    **dict.fromkeys(("assert_equal", "assert_less", "assert_greater", "assert_none_equal"), (_ONE, _OTHER)),
    **dict.fromkeys(("assert_less_equal", "assert_greater_equal", "assert_near"), (_ONE, _OTHER)),
    **dict.fromkeys(("assert_negative", "assert_non_positive", "assert_integer", "assert_scalar"), (_ONE,)),
    **dict.fromkeys(("assert_positive", "assert_non_negative"), (-_ONE,)),
    **dict.fromkeys(("assert_rank", "assert_rank_at_least"), (_ONE, 2)),
    "Assert": (False, [_ONE]),
    "assert_all_finite": (_ONE / np.array([1, 0, 1], _DTYPE), "finite values"),
    "assert_proper_iterable": (_ONE,),
    "assert_rank_in": (_ONE, [0, 2]),
    "assert_same_float_dtype": ([_ONE, _OTHER.astype("float64")],),
    "assert_type": (_ONE, "int32"),
    "check_numerics": (_ONE / np.array([1, 0, 1], _DTYPE), "finite values"),
}
"""Arguments that an assertion refuses, by its name."""

_MODULES = ("tf.debugging", "tf", "tf.compat.v1", "tf.compat.v1.debugging")
_LONG_WORD = re.compile(r"[A-Za-z]{5,}")


def prepare() -> None:
    """Imports nothing more."""


@lru_cache(maxsize=None)
def _functions() -> Mapping[str, Any]:
    found = {f"{home}.{name}": host_tensors.named(f"{home}.{name}") for home in _MODULES for name in _VIOLATED}
    first = {id(function): name for name, function in reversed(found.items()) if function is not None}
    return {name: found[name] for name in sorted(first.values())}


def entries() -> Sequence[Entry]:
    return [Entry(name, "", [function], (_DTYPE,), ()) for name, function in _functions().items()]


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    """The call, with the class of the error that the host raises, and a word of its message."""
    function = _functions()[entry]
    args = host_tensors.with_tensors(list(_VIOLATED[entry.split(".")[-1]]), False)
    try:
        with host_tensors.on_host():
            function(*args)
    except Exception as error:
        words = _LONG_WORD.findall(str(error))
        refusal = Refusal([type(error).__name__], words[-1] if words else "")
        return [Sample(args, {}, host_tensors.parts, raises=refusal)]
    return []


look = host_tensors.look_of
