"""Functions of two arguments of different types: arrays of all dtypes, NumPy scalars and plain numbers."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import numpy as np

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_PLAIN: dict[str, Any] = {"bool": True, "int": 3, "float": 2.5, "complex": 1.5 - 2j}
_NUMBERS = {
    "left": [[2, 1, 3], [1, 4, 2]],
    "right": [[1, 3, 2], [2, 1, 4]],
}


def pairs(trial: Trial, reference: str, types: Sequence[Sequence[str]]) -> None:
    """Each pair of types gives the output's type and the values of the reference, whichever argument is the wider one:
    all pairs in one compiled program, where numbers are constants.

    ``types``: left, right and output. ``python float`` is a plain number, ``numpy float32`` a NumPy scalar, and the
    dtype alone an array.
    """
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)
    given = [
        [_made(trial, kind, _NUMBERS[side]) for kind, side in zip(sides, ("left", "right"))] for *sides, _ in types
    ]
    leaves = [value for pair in given for value, _ in pair]
    places = [place for place, value in enumerate(leaves) if isinstance(value, jax.Array)]

    def body(function: Callable[..., Any], arrays: Any) -> Any:
        def program(arrays: Any) -> Any:
            values = list(leaves)
            for place, array in zip(places, arrays):
                values[place] = array
            return [function(left, right) for left, right in zip(values[::2], values[1::2])]

        return jax.jit(program)(arrays)

    outputs = trial.call_inside(body, [leaves[place] for place in places])
    for output, pair, (*_, dtype) in zip(outputs, given, types):
        expected = exact(*(host for _, host in pair))
        # bfloat16 has eight digits, and powers are rounded in several steps.
        rtol = {"bfloat16": 2e-2, "float16": 3e-3}.get(dtype, 5e-6)
        exactly = not dtype.startswith(("float", "bfloat", "complex"))
        trial.close(output, expected, rtol=0 if exactly else rtol, atol=0 if exactly else None, dtype=dtype)


def weak(trial: Trial, numbers: Sequence[float], value: float, options: Sequence[Any] = ()) -> None:
    """Of plain numbers the output has a weak type, which an array of half precision that is joined with it overrules;
    of arrays it has not. Both have the value. ``options`` follow the numbers, and are no numbers of this kind."""
    plain = trial.call(*numbers, *options)
    whole = trial.call(*[trial.tensor(np.float32(number)) for number in numbers], *options)
    trial.equal([bool(output.weak_type) for output in (plain, whole)], [True, False])
    for output in (plain, whole):
        trial.close(output, np.float64(value), dtype="float32")
    joined = plain + trial.tensor(np.ones(2), "float16")
    trial.equal(trial.dtype_name(joined), "float16")


def _made(trial: Trial, kind: str, numbers: Any) -> tuple[Any, Any]:
    """Return an argument of a type and its value for the reference."""
    where, _, name = kind.rpartition(" ")
    if where == "python":
        return _PLAIN[name], np.asarray(_PLAIN[name], {"bool": "int64", "int": "int64"}.get(name))
    if where == "numpy":
        return np.dtype(name).type(2), np.asarray(2, "float64" if "float" in name else "int64")
    moved = trial.tensor(np.array(numbers), name)
    host = widened(trial.numpy(moved))
    return moved, host if host.dtype.kind in "fc" else host.astype("int64")
