"""Derivatives of functions of complex numbers, in both directions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.floating import Floating
from runners.jax.cases.given import Given
from runners.jax.cases.slopes import along


def complex_slopes(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Along a real and an imaginary direction the outputs change like those of the reference, and the cotangents are
    those of the same changes: not their conjugates.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    floating = Floating(trial, Given(trial, args, kwargs), expect, jnp.complexfloating)
    hosts = floating.hosts
    values = floating.exact(hosts)
    dtypes = ["complex64" if np.iscomplexobj(value) else "float32" for value in values]
    directions = [
        [unit * trial.random(*np.shape(host), seed=300 + n, low=0.5, high=1.5) for n, host in enumerate(hosts)]
        for unit in (1, 1j)
    ]
    cotangents = [
        np.asarray(trial.random(*np.shape(value), dtype=dtype, seed=100 + n))
        for n, (value, dtype) in enumerate(zip(values, dtypes))
    ]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def derived(arrays: Any, directions: Any, cotangents: Any) -> Any:
            under_test = floating.of(function)
            changes = [jax.jvp(under_test, (arrays,), (each,))[1] for each in directions]
            outputs, pull_back = jax.vjp(under_test, arrays)
            return outputs, changes, pull_back(cotangents)[0]

        return jax.jit(derived)

    trial.has_random_inputs = False  # other values would compile the same program again
    moved = [[trial.tensor(array.astype("complex64")) for array in each] for each in directions]
    given = [trial.tensor(array, dtype) for array, dtype in zip(cotangents, dtypes)]
    outputs, changes, pulled = trial.call_inside(
        lambda function, *x: made(function)(*x), floating.tensors, moved, given
    )
    for part, wanted, dtype in zip(outputs, values, dtypes):
        trial.close(part, wanted, rtol=rtol, atol=atol, dtype=dtype)
    for found, direction in zip(changes, directions):
        expected = along(floating.exact, hosts, direction)
        for part, wanted, dtype in zip(found, expected, dtypes):
            trial.close(part, wanted, rtol=rtol, atol=atol, dtype=dtype)
    for number, part in enumerate(pulled):
        wanted = np.zeros(np.shape(hosts[number]), complex)
        for place in np.ndindex(*wanted.shape):
            wanted[place] = _pulled(floating.exact, hosts, number, place, cotangents)
        trial.close(part, wanted, rtol=rtol, atol=atol, dtype="complex64")


def _pulled(exact: Callable[..., Any], hosts: Sequence[Any], number: int, place: Any, cotangents: Any) -> complex:
    """Return the cotangent of one element: the real part of its product with a change of the element is that of the
    product of the outputs' cotangents and their changes."""
    parts = []
    for unit in (1, 1j):
        direction = [np.zeros(np.shape(host), complex) for host in hosts]
        direction[number][place] = unit
        change = along(exact, hosts, direction)
        parts.append(sum(np.sum(cotangent * part).real for cotangent, part in zip(cotangents, change)))
    return complex(parts[0], -parts[1])
