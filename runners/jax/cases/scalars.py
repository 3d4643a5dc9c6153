"""Numbers as arguments: NumPy's scalars and arrays without axes, and plain ones, of every type."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import references
from runners.core.testing.trial import Trial

_TYPES = {
    "bool": "float32",
    "int8": "float32",
    "uint8": "float32",
    "int16": "float32",
    "int32": "float32",
    "uint32": "float32",
    "int64": "float32",
    "float16": "float16",
    "float32": "float32",
    "float64": "float32",
    "complex64": "complex64",
}
_SINGLE = ("bool", "int8", "float32")
_RTOL = {"float16": 2e-3, "bfloat16": 2e-2}


def numpy_numbers(
    trial: Trial,
    reference: str,
    numbers: Sequence[float] = (1, 2, 5),
    kinds: Sequence[str] = tuple(_TYPES),
    more: Sequence[Any] = (),
    kept: bool = False,
) -> None:
    """A NumPy scalar, an array without axes, one of a single element and one on the device have the value of the
    reference, the shape of their argument, and the type of arrays of theirs, which is not weak. Only some types have
    one of a single element.

    ``more``: further arguments of the function alone. ``kept``: the output has the type of the input.
    """
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)
    trial.repeatable = False  # each call is one of a row
    for kind in kinds:
        narrow = {"int64": "int32", "float64": "float32"}.get(kind, kind)
        dtype = narrow if kept else _TYPES[kind]
        for number in [numbers[0]] if kind == "bool" else numbers:
            scalar = np.dtype(kind).type(number)
            host = np.asarray(scalar, "complex128" if kind.startswith("complex") else "float64")
            wanted = np.asarray(exact(host))
            made: list[tuple[Any, tuple[int, ...]]] = [(scalar, ()), (np.array(scalar), ())]
            if kind in _SINGLE:
                made.append((np.array([[scalar]]), (1, 1)))
            if kind not in ("int64", "float64"):
                made.append((trial.tensor(np.array(scalar), kind), ()))
            for given, shape in made:
                output = trial.call(given, *more)
                trial.check(isinstance(output, jax.Array), f"expected an array, got {type(output).__name__}")
                trial.equal(bool(output.weak_type), False)
                trial.close(output, wanted.reshape(shape), rtol=_RTOL.get(dtype, 3e-6), dtype=dtype)


def weak_choice(trial: Trial) -> None:
    """jax.lax.select: of plain numbers the output has a weak type, of arrays it has not; either truth of a plain bool,
    a NumPy one and an array chooses its case."""
    for pred in (True, False):
        for truth in (pred, np.bool_(pred), trial.tensor(np.array(pred))):
            for first, second, dtype in ((1.5, 2.5, "float32"), (3, 4, "int32"), (1j, 2.0 + 1j, "complex64")):
                plain = trial.call(truth, first, second)
                arrays = trial.call(truth, *(trial.tensor(np.array(each, dtype)) for each in (first, second)))
                trial.equal([bool(output.weak_type) for output in (plain, arrays)], [True, False])
                for output in (plain, arrays):
                    trial.exact(output, np.array(first if pred else second, dtype), dtype)


def chosen_types(trial: Trial, types: Mapping[str, Sequence[float]]) -> None:
    """A dtype that is named as text, as NumPy's type, as a dtype and as JAX's gives the same output: the values of the
    table, converted from plain numbers, of lists, tuples and NumPy arrays."""
    trial.repeatable = False  # each call is one of a row
    source = [0, 1.75, -2.25, 300.5]
    for name, values in types.items():
        for dtype in (name, trial.dtype(name), np.dtype(trial.dtype(name))):
            for given in (
                source,
                tuple(source),
                np.array(source, "float32"),
                trial.tensor(np.array(source), "float32"),
            ):
                trial.exact(trial.call(given, dtype=dtype), np.array(values), name)


def slopes_of_conversions(trial: Trial) -> None:
    """jax.numpy.array: the gradient goes through a conversion between floating types, of an array and of a list of
    numbers, and is of the argument's type; in both directions, and not through one to integers."""
    names = ("float32", "float16", "bfloat16")
    choices = list(itertools.product(names, names, (False, True)))
    weights = np.array([[1.0, -2.0, 0.5]])

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def of(x: Any, name: str, other: str, listed: bool) -> Any:
            def converted(x: Any) -> Any:
                given = [[x[0], x[1], x[2]]] if listed else x
                return function(given, dtype=other, ndmin=2) * weights.astype("float32")

            moved = x.astype(name)
            gradient = jax.grad(lambda x: converted(x).sum())(moved)
            return gradient, jax.jvp(converted, (moved,), (moved,))[1].astype("float32")

        def every(x: Any) -> Any:
            stopped = jax.grad(lambda x: function(function(x, dtype="int32"), dtype="float32").sum())(x)
            return [of(x, *each) for each in choices], stopped

        return jax.jit(every)

    x = trial.tensor(np.array([1.5, -2.0, 0.25]))
    found, stopped = trial.call_inside(lambda function, x: made(function)(x), x)
    trial.exact(stopped, [0, 0, 0], "float32")
    for (name, _, _), (gradient, tangent) in zip(choices, found):
        trial.exact(gradient, weights[0], name)
        trial.exact(tangent, weights * [1.5, -2.0, 0.25], "float32")


def weak_arrays(trial: Trial, options: Sequence[Any] = (), listed: bool = False) -> None:
    """What only moves elements keeps the weak type of a weakly typed array, of floats and integers, in the values'
    order and in a compiled function; an array that is not weakly typed stays so. ``options`` follow the array."""
    for number, dtype in ((2.5, "float32"), (3, "int32")):
        weak = jnp.broadcast_to(jnp.asarray(number), (3, 4))
        strong = jnp.asarray(np.full((3, 4), number, dtype))
        for array in (weak, strong):
            given = [array, array] if listed else array
            output = trial.call(given, *options)
            compiled = trial.call_inside(lambda function, given: jax.jit(lambda x: function(x, *options))(given), given)
            for each in (output, compiled):
                trial.equal(bool(each.weak_type), bool(array.weak_type))
                trial.exact(each, np.full(each.shape, number), dtype)
