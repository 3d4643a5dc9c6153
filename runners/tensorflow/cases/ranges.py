"""tf.range with limits of several kinds, compared with NumPy's."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_ORDER = ["int32", "int64", "float32", "float64"]


def _kind(value: Any) -> str:
    return "float32" if isinstance(value, float) else "int32"


_GIVEN: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], str]]] = {
    "number": (lambda value: value, _kind),
    "numpy": (lambda value: np.asarray(value, _kind(value)), _kind),
    "tensor": (lambda value: tf.constant(value, _kind(value)), _kind),
    "wide": (
        lambda value: tf.constant(value, "float64" if isinstance(value, float) else "int64"),
        lambda value: "float64" if isinstance(value, float) else "int64",
    ),
}
"""How a number is given, and the dtype that it has then."""


def counted(
    trial: Trial,
    start: float,
    span: float,
    step: float,
    down: bool,
    given_as: str = "number",
    dtype: str | None = None,
) -> None:
    """The numbers from the start on, before its sum with the span, by the step, or downwards, have the widest dtype of
    the three, or the one that is asked for. All are exact in float32, and so is their number."""
    numbers = [start, start + span * (-1 if down else 1), -step if down else step]
    make, kind = _GIVEN[given_as]
    expected = np.arange(*numbers)
    wanted = dtype or max(map(kind, numbers), key=_ORDER.index)
    options = {} if dtype is None else {"dtype": trial.dtype(dtype)}
    output = trial.call(*map(make, numbers), **options)
    trial.exact(output, expected.astype("float64") if "float" in wanted else expected, wanted)


def in_turn(trial: Trial, dtype: str, given_as: str) -> None:
    """Each range has the numbers of its own start, limit, step and dtype, whichever ranges of the same start, limit,
    step, length or last number came before; the first ones once more at the end. The outputs are their own."""
    wide = dtype in ("float32", "float64")
    starts = [0.0, 3.0, -3.0, 4.0, 0.5, -4.5, 100.0] if wide else [0, 3, -3, 4, 100, -100]
    spans = [5.0, 5.5, 6.0, 24.0, 130.0] if wide else [5, 6, 24, 130]
    steps = [1.0, 2.0, 1.5, 0.5] if wide else [1, 2, 3]
    calls = [
        (start, start + sign * span, sign * step)
        for start, step, span, sign in itertools.product(starts, steps, spans, (1, -1))
    ]
    single = [(each,) for each in ([5.0, 5.5, 6.0, 5.25, 1.0, 0.5] if wide else [5, 6, 7, 1, 0])]
    pairs = [(start, start + span) for start, span in itertools.product(starts, spans)]
    calls += [(-10, 5, 1), (-10, -5, 1), (-3, 9, 2), (3, 9, 2), (7, -4, -3), (7, 4, -3), (-1, 4, 1), (1, 4, 1)]
    kept = []
    for numbers in [*calls, *pairs, *single, *calls[:5], *pairs[:5]]:
        arguments: list[Any] = [float(each) if wide else each for each in numbers]
        if given_as == "tensor":
            arguments = [tf.constant(each, trial.dtype(dtype)) for each in numbers]
        kept.append((trial.call(*arguments, dtype=trial.dtype(dtype)), np.arange(*numbers, dtype="float64")))
        if given_as == "number" and dtype in ("int32", "float32"):
            kept.append((trial.call(*arguments), np.arange(*numbers, dtype="float64")))
    for output, expected in kept:
        trial.close(output, expected if wide else expected.astype("int64"), 0.0, 0.0, dtype=dtype)


def far_and_fine(trial: Trial) -> None:
    """Many numbers of float64 have steps that float32 cannot hold."""
    step = 1.0 + 2.0**-30
    for start, count in ((0.0, 1500), (-700.0, 2100), (2.0**20, 1100)):
        numbers = [start, start + count * step, step]
        output = trial.call(*(tf.constant(each, tf.float64) for each in numbers))
        # All the numbers and their sums are exact in float64.
        trial.exact(output, start + step * np.arange(count), "float64")
