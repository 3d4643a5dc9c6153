"""What outputs are: their types while JAX's 64-bit types are on, memory of their own, and their container."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax

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


def deleted(
    trial: Trial, args: Sequence[Any], expect: Mapping[str, Any], kwargs: Mapping[str, Any] | None = None
) -> None:
    """Outputs of equal calls have memory of their own: when one is deleted, as by a program that it is donated to, an
    earlier and a later one are still there."""
    given = Given(trial, args, kwargs)

    def body(function: Callable[..., Any]) -> Any:
        made = [function(*given.with_tensors(given.tensors), **given.kwargs) for _ in range(3)]
        for leaf in jax.tree_util.tree_leaves(made[1]):
            leaf.delete()
        return made[0], made[2], function(*given.with_tensors(given.tensors), **given.kwargs)

    trial.repeatable = False  # the deleted output is made anew at each call
    for output in trial.call_inside(body):
        given.check(trial, output, given.host, expect)


def container(
    trial: Trial, args: Sequence[Any], expect: Mapping[str, Any], kind: str, kwargs: Mapping[str, Any] | None = None
) -> None:
    """Several outputs are in a container of this kind or of one derived from it."""
    given = Given(trial, args, kwargs)
    outputs = trial.call(*given.with_tensors(given.tensors), **given.kwargs)
    kinds = [each.__name__ for each in type(outputs).__mro__]
    trial.check(kind in kinds, f"expected a {kind}, got a {kinds[0]}")
    given.check(trial, outputs, given.host, expect)
