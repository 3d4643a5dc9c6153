"""Arrays that are no whole block of memory: NumPy views with strides, and arrays cut out of others inside a program."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given

Array = Any


def views(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    traced: bool = True,
) -> None:
    """Each kind of view of all arrays gives the reference's output, and the call changes nothing in or around it. One
    that has other values afterwards and is given again has their output.

    The arguments and ``expect`` are those of a manifest's ``call``. Unless ``traced`` is False, the arrays are also cut
    out of larger ones in a compiled program.
    """
    given = Given(trial, args, kwargs)
    whole = [trial.numpy(tensor) for tensor in given.tensors]
    trial.repeatable = False  # the views change

    def check(output: Any, arrays: Sequence[Array]) -> None:
        host = given.with_tensors([widened(np.array(array)) for array in arrays])
        given.check(trial, output, host, expect, rtol, atol)

    for view in _VIEWS:
        made = [view(array) for array in whole]
        bases = [np.array(base) for base, _ in made]
        shown = [array for _, array in made]
        check(trial.call(*given.with_tensors(shown), **given.kwargs), shown)
        for (base, _), before in zip(made, bases):
            trial.check(base.tobytes() == before.tobytes(), "the call wrote to the memory of its argument")
        if view is _inside:
            for array in shown:
                array[...] = np.flip(array).copy()
            check(trial.call(*given.with_tensors(shown), **given.kwargs), shown)

    @lru_cache(maxsize=1)
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda *cut: function(*given.with_tensors(list(map(_cut_out, cut))), **given.kwargs))

    if traced:
        larger = [trial.tensor(_larger(array)) for array in whole]
        check(trial.call_inside(lambda function, *cut: compiled(function)(*cut), *larger), whole)


def _transposed(array: Array) -> tuple[Array, Array]:
    base = np.ascontiguousarray(array.T)
    return base, base.T


def _every_second(array: Array) -> tuple[Array, Array]:
    base = _around(array, [2 * size for size in array.shape])
    view = base[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return base, view


def _backwards(array: Array) -> tuple[Array, Array]:
    turned = tuple(slice(None, None, -1) for _ in array.shape)
    base = np.ascontiguousarray(array[turned])
    return base, base[turned]


def _inside(array: Array) -> tuple[Array, Array]:
    base = _around(array, [size + 3 for size in array.shape])
    view = base[tuple(slice(2, 2 + size) for size in array.shape)]
    view[...] = array
    return base, view


def _repeated(array: Array) -> tuple[Array, Array]:
    base = np.ascontiguousarray(array[:1])
    return base, np.broadcast_to(base, array.shape)


_VIEWS = (_transposed, _every_second, _backwards, _inside, _repeated)


def _around(array: Array, shape: Sequence[int]) -> Array:
    """What must not be read: NaN, or the largest number."""
    kind = array.dtype.kind
    return np.full(shape, np.iinfo(array.dtype).max if kind in "iu" else kind == "b" or np.nan, array.dtype)


def _larger(array: Array) -> Array:
    base, _ = _inside(np.transpose(array)[tuple(slice(None, None, -1) for _ in array.shape)])
    return base


def _cut_out(base: Any) -> Any:
    view = base[tuple(slice(2, size - 1) for size in base.shape)]
    return jnp.transpose(jnp.flip(view, tuple(range(base.ndim))))
