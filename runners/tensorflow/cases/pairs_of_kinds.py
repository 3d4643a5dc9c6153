"""tf.cast between each pair of dtypes, and tf.debugging.assert_less in each dtype: many axes, long axes, each place."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.core.testing.trial import Trial

_SHAPES = ([], [1], [300, 2], [2, 300], [2, 3, 270], [2, 1, 3, 2, 1, 2])
_KINDS = [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
]  # fmt: skip


def cast_to_each(trial: Trial, source: str) -> None:
    """From this dtype to each one: what both can hold stays, fractions are cut, truth is what is not zero."""
    for number, shape in enumerate(_SHAPES):
        host = np.arange(number, number + int(np.prod(shape, dtype="int64"))) * 11 % 120
        if source.startswith(("float", "bfloat", "complex")):
            host = host + 0.5 * (host % 2)
        elif source == "bool":
            host = host % 3
        tensor = trial.tensor(host.reshape(shape).astype("float32" if source == "bfloat16" else source), source)
        given = np.array(trial.numpy(tensor))
        wide = given.astype("float64") if source == "bfloat16" else given
        for target in _KINDS:
            real = wide.real if wide.dtype.kind == "c" and not target.startswith("complex") else wide
            expected: Any = wide != 0 if target == "bool" else real
            if target.startswith(("int", "uint")):
                expected = np.trunc(real).astype(target) if real.dtype.kind == "f" else real.astype(target)
            elif target != "bool":
                expected = expected.astype("complex128" if target.startswith("complex") else "float64")
            # All the values have at most eight bits.
            trial.close(trial.call(tensor, trial.dtype(target)), expected, 0.0, 0.0, dtype=target)


def less_at_each_place(trial: Trial, dtype: str) -> None:
    """The assertion passes where each element is less, and fails where one of them, at any place, is equal or greater;
    a number and a row are compared with all."""
    whole = not dtype.startswith(("float", "bfloat"))
    least = np.iinfo(dtype).min if whole else -np.inf
    greatest = np.iinfo(dtype).max if whole else np.inf
    host_dtype = "float32" if dtype == "bfloat16" else dtype
    for shape in _SHAPES:
        size = int(np.prod(shape, dtype="int64"))
        low = (np.arange(size) % 50).astype(host_dtype)
        high = low + np.asarray(1, host_dtype)
        low[0], high[-1] = least, greatest
        upper = trial.tensor(high.reshape(shape), dtype)
        lower = trial.tensor(low.reshape(shape), dtype)
        trial.check(trial.call(lower, upper) is None, "an assertion that passes returns nothing")
        trial.call(lower, trial.tensor(np.asarray(60, host_dtype), dtype)[None])
        for place in sorted({0, size // 2, size - 1}):
            for wrong in [high[place], greatest, *([] if whole else [np.nan])]:
                changed = low.copy()
                changed[place] = wrong
                given = trial.tensor(changed.reshape(shape), dtype)
                trial.raises(["InvalidArgumentError"], "x < y", given, upper)
            if wrong != wrong:
                trial.raises(["InvalidArgumentError"], "x < y", lower, given)
