"""Outputs are arrays of their own: no memory of another array, no type that another array can change."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


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
