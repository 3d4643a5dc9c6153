"""Weak types: arrays that come from plain numbers adapt to the dtype of others, and so do some outputs of them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


def weakness(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    weak: bool,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Of weakly typed arrays the output has a weak type, or, without ``weak``, has none; of other arrays it has none.
    So it is in a compiled function too. The values are those of the reference.

    The arguments and ``expect`` are those of a manifest's ``call``. All tensors have the same dtype and some axes.
    """
    given = Given(trial, args, kwargs)
    weakly = [_weakly_typed(tensor) for tensor in given.tensors]
    trial.equal([bool(tensor.weak_type) for tensor in weakly], [True] * len(weakly))

    @lru_cache(maxsize=1)
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda several: [called(function, tensors) for tensors in several])

    def called(function: Callable[..., Any], tensors: Any) -> Any:
        return function(*given.with_tensors(tensors), **given.kwargs)

    def body(function: Callable[..., Any], *several: Any) -> Any:
        # One program for both kinds. What is made of others step by step is seen in outputs.own.
        return called(function, several[0]), *compiled(function)(several)

    trial.has_random_inputs = False  # other values would compile the same program again
    for output, kept in zip(trial.call_inside(body, weakly, given.tensors), (weak, weak, False)):
        given.check(trial, output, given.host, expect)
        first = output
        while isinstance(first, (list, tuple)):
            first = first[0]
        trial.equal(bool(first.weak_type), kept)
        if kept and first.dtype != bool:
            narrow = "float16" if jnp.issubdtype(first.dtype, jnp.floating) else "int8"
            trial.equal(jnp.result_type(first, np.dtype(narrow)).name, narrow)


def _weakly_typed(tensor: Any) -> Any:
    """Return an array of the same values that is made of plain numbers, one by one."""
    return _joined(np.asarray(tensor).ravel().tolist(), tensor.shape)


@partial(jax.jit, static_argnums=1)
def _joined(numbers: Sequence[Any], shape: Sequence[int]) -> Any:
    return jax.lax.concatenate([jax.lax.reshape(number, (1,)) for number in numbers], 0).reshape(shape)
