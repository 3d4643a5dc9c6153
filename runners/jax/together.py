"""Calls of several checks in one compiled program. Compiling is most of what a check costs, and one program with many
outputs costs less than many programs."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.testing.endings import MisusedTrial
from runners.core.testing.trial import Trial

Body = Callable[..., Any]


class _Reached(Exception):
    """A check has come to its call: the output of ``body(function, *args, **kwargs)`` is wanted."""

    def __init__(self, body: Body, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        super().__init__(body, args, kwargs)
        self.body = body
        self.leaves, self._structure = jax.tree_util.tree_flatten((args, kwargs))
        self._places = [place for place, leaf in enumerate(self.leaves) if isinstance(leaf, jax.Array)]
        self.arrays = [self.leaves[place] for place in self._places]

    def traced(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """Return the output for these arrays; other arguments are constants."""
        leaves = list(self.leaves)
        for place, array in zip(self._places, arrays):
            leaves[place] = array
        args, kwargs = jax.tree_util.tree_unflatten(self._structure, leaves)
        return self.body(function, *args, **kwargs)


class _Stopping:
    """A trial whose check ends at its call."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return self._reached(lambda function, *args, **kwargs: function(*args, **kwargs), args, kwargs)

    def call_inside(self, body: Body, *args: Any) -> Any:
        return self._reached(body, args, {})

    def _reached(self, body: Body, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise _Reached(body, args, kwargs)


class _Answering(_Stopping):
    """A trial whose check gets an output that is there already. It must be the only call."""

    def __init__(self, trial: Trial, output: Any) -> None:
        super().__init__(trial)
        self._outputs = [output]

    def keep(self, output: Any) -> None:
        """Does nothing: the call is not made alone again."""

    def _reached(self, body: Body, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if not self._outputs:
            raise MisusedTrial("a check that is made together with others must make one call")
        return self._outputs.pop()


def together(trial: Trial, checks: Sequence[Callable[[Any], None]]) -> None:
    """Makes each check, a case without its parameters, with the calls of all in one program that is compiled once."""
    calls = [_call_of(trial, check) for check in checks]

    def body(function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        return jax.jit(lambda arrays: [call.traced(function, each) for call, each in zip(calls, arrays)])(arrays)

    outputs = trial.call_inside(body, [call.arrays for call in calls])
    for check, output in zip(checks, outputs):
        check(_Answering(trial, output))


def _call_of(trial: Trial, check: Callable[[Any], None]) -> _Reached:
    try:
        check(_Stopping(trial))
    except _Reached as reached:
        return reached
    raise MisusedTrial("a check that is made together with others must make one call")
