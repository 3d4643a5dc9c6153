"""Calls that give options as their defaults, and arguments by their names: the output is that of the short call."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Mapping, Sequence

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given

_NO_VALUES = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def spelled_out(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    names: bool = True,
    same: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Each option that is given as its default, all of them together, and all arguments by their names do not change
    the output, nor do those values of ``same`` that have no effect on it.

    The arguments and ``expect`` are those of a manifest's ``call``. Without ``names`` they are given by position.
    """
    given = Given(trial, args, kwargs)
    positional = given.with_tensors(given.tensors)
    parameters = inspect.signature(trial.function).parameters.values()
    defaults = {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty and parameter.kind not in _NO_VALUES
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY and parameter.name not in given.kwargs
    }
    by_position = [parameter for parameter in parameters if parameter.kind not in _NO_VALUES][: len(positional)]
    for parameter in by_position:
        defaults.pop(parameter.name, None)
    trial.repeatable = False  # each call is one of a row

    def check(call: Callable[[], Any]) -> None:
        given.check(trial, call(), given.host, expect, rtol, atol)

    options = [{name: value} for name, value in defaults.items()]
    options += [{name: value} for name, values in (same or {}).items() for value in values if name in defaults]
    for option in [{}, *options, defaults]:
        check(lambda option=option: trial.call(*positional, **given.kwargs, **option))
    if names and all(each.kind is not inspect.Parameter.POSITIONAL_ONLY for each in by_position):
        named = {parameter.name: value for parameter, value in zip(by_position, positional)}
        check(lambda: trial.call(**dict(reversed(list(named.items()))), **given.kwargs))
        check(lambda: trial.call(**named, **defaults, **given.kwargs))
