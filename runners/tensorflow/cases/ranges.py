"""tf.range with limits of several kinds, compared with NumPy's."""

from __future__ import annotations

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
