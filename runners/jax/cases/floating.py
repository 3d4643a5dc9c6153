"""The floating arrays among the arguments of a `call` in a manifest, for cases that differentiate by all of them."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax.numpy as jnp

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


class Floating:
    """The arrays of the floating ``dtype`` and its subtypes: the function and its reference with these alone as
    arguments. ``hosts`` are their values, in float64."""

    def __init__(self, trial: Trial, given: Given, expect: Mapping[str, Any], dtype: Any = jnp.floating) -> None:
        self._given = given
        self._expect = expect
        self._places = [place for place, tensor in enumerate(given.tensors) if jnp.issubdtype(tensor.dtype, dtype)]
        self._wide = [widened(trial.numpy(tensor)) for tensor in given.tensors]
        self.tensors = [given.tensors[place] for place in self._places]
        self.hosts = [self._wide[place] for place in self._places]

    def exact(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs of the reference with these arrays."""
        return listed(self._given.expected(self._expect, self._with(self._wide, arrays)))

    def of(self, function: Callable[..., Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """Return the function of these arrays alone, whose outputs are those that the reference has."""

        def outputs(arrays: Sequence[Any]) -> list[Any]:
            output = function(*self._with(self._given.tensors, arrays), **self._given.kwargs)
            for step in self._expect.get("output", []):
                output = output[step]
            return listed(output)

        return outputs

    def _with(self, tensors: Sequence[Any], arrays: Sequence[Any]) -> Any:
        whole = list(tensors)
        for place, array in zip(self._places, arrays):
            whole[place] = array
        return self._given.with_tensors(whole)


def listed(outputs: Any) -> list[Any]:
    """Return the outputs as a list, also where there is only one."""
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
