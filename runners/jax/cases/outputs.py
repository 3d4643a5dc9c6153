"""What outputs are: their types while JAX's 64-bit types are on, memory of their own, and their container."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given
from runners.jax.double import x64


def narrow(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """With 64-bit types enabled, arrays of fewer bits give the dtype and values that they give without."""
    with x64():
        given = Given(trial, args, kwargs)

    def body(function: Callable[..., Any], tensors: Any) -> Any:
        with x64():
            return function(*given.with_tensors(tensors), **given.kwargs)

    given.check(trial, trial.call_inside(body, given.tensors), given.host, expect, rtol, atol)


def own(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Equal calls have outputs that are independent of each other: when the first output is deleted, the second one,
    the arguments and a third call are as before. Each is an array of the device, of NumPy arguments too, and its type
    is not weak, so that arrays which are joined with it do not change it.

    The arguments and ``expect`` are those of a manifest's ``call``.
    """
    given = Given(trial, args, kwargs)
    hosts = [np.array(trial.numpy(tensor)) for tensor in given.tensors]
    trial.repeatable = False  # the outputs are deleted
    first, second = (trial.call(*given.with_tensors(given.tensors), **given.kwargs) for _ in range(2))
    of_hosts = trial.call(*given.with_tensors(hosts), **given.kwargs)
    for leaf in jax.tree_util.tree_leaves((first, second, of_hosts)):
        trial.check(isinstance(leaf, jax.Array), f"expected an array of the device, got {type(leaf).__name__}")
        trial.equal(bool(leaf.weak_type), False)
    for leaf in jax.tree_util.tree_leaves(first):
        leaf.delete()
    third = trial.call(*given.with_tensors(given.tensors), **given.kwargs)
    for output in (second, of_hosts, third):
        given.check(trial, output, given.host, expect, rtol, atol)


def container(
    trial: Trial, args: Sequence[Any], expect: Mapping[str, Any], kind: str, kwargs: Mapping[str, Any] | None = None
) -> None:
    """Several outputs are in a container of this kind or of one derived from it."""
    given = Given(trial, args, kwargs)
    outputs = trial.call(*given.with_tensors(given.tensors), **given.kwargs)
    kinds = [each.__name__ for each in type(outputs).__mro__]
    trial.check(kind in kinds, f"expected a {kind}, got a {kinds[0]}")
    given.check(trial, outputs, given.host, expect)
