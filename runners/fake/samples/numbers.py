"""Samples for the core's own tests: entries whose samples pass, fail, must raise an error, call a function inside of
another one, kill the process, or are for no function.

The environment variable FAKE_SAMPLES changes how many samples an entry has, as another version of a package does.
"""

from __future__ import annotations

import os
import signal
from typing import Any, Sequence

import numpy as np

from runners.core.testing.samples import Entry, Refusal, Sample
from runners.fake import library

PACKAGE = "numpy"
NEEDS = "any NumPy"
_BOTH = ("float32", "float64")


def prepare() -> None:
    """Imports nothing more. Raises ImportError where the environment variable FAKE_SAMPLES says "none"."""
    if os.environ.get("FAKE_SAMPLES") == "none":
        raise ImportError("No module named 'numbers'")


def entries() -> Sequence[Entry]:
    return [
        Entry("scale", "", [library.scale, library.scale_wrongly, library.scale_without_kernel], _BOTH, ()),
        Entry("scale.by_host", "by_host", [library.scale], ("float64",), ()),
        Entry("wrong_reference", "", [library.scale_by_rounding], ("float64",), ()),
        Entry("noise", "", [library.noise], ("float64",), ()),
        Entry("refuse", "", [library.refuse], ("float64",), ()),
        Entry("refusal", "refusal", [library.refuse], ("float64",), ()),
        Entry("scale.inside", "inside", [library.scale, library.scale_wrongly], ("float64",), ()),
        Entry("killer", "", [library.quotient], ("float64",), ()),
        Entry("empty", "", [library.root], ("float64",), ()),
        Entry("lambda", "", [lambda tensor: tensor], ("float64",), ()),
    ]


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    if entry == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    if entry == "empty":
        return []
    if entry not in {each.name for each in entries()}:
        raise KeyError(entry)
    count = int(os.environ.get("FAKE_SAMPLES", "7"))
    return [_sample(entry, dtype, size) for size in range(1, count + 1)]


def look(sample: Sample) -> str:
    return repr([len(each.values) if isinstance(each, library.Tensor) else each for each in sample.args])


def _twice(function: Any, tensor: Any, factor: float) -> Any:
    return function(function(tensor, factor), factor)


def _sample(entry: str, dtype: str, size: int) -> Sample:
    values = [float(value) for value in range(1, size + 1)]
    args: list[Any] = [library.Tensor(values, dtype)]
    if entry == "refusal":
        # The library's message has no such word for the first sample.
        word = "overflow" if size == 1 else "Implemented"
        return Sample(args, {}, lambda output: output, raises=Refusal(["RuntimeError"], word))
    if entry == "scale.inside":
        return Sample([*args, 3.0], {}, lambda output: output, lambda: 9.0 * np.array(values), body=_twice)
    if entry not in ("noise", "refuse"):
        args.append(3.0)
    factor = 4.0 if entry == "wrong_reference" else 3.0
    has_reference = entry in ("scale", "wrong_reference")
    return Sample(args, {}, lambda output: output, (lambda: factor * np.array(values)) if has_reference else None)
