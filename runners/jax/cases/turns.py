"""Several calls of one function in one process: none may change what another one gives."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.testing.call import call
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.jax.cases.arrays import double
from runners.jax.cases.given import Given

_OTHER_SEED = 1000


def in_turn(trial: Trial, calls: Sequence[Mapping[str, Any]], traced: bool = True) -> None:
    """Calls with other shapes, dtypes and options give their own output, in their order and, with other values, in the
    reverse order. Between both they are traced, if they can be, and one call fails: this leaves nothing behind.

    Each of the ``calls`` has the arguments and what is expected as in a manifest's ``call``; with ``double`` it is made
    while 64-bit types are enabled.
    """
    for given in calls:
        _one(trial, given)
    if traced:
        for given in calls:
            if not given.get("double"):
                _trace(trial, given)
    trial.call_inside(_failed)
    for given in reversed(calls):
        _one(trial, _reseeded(given))


def in_a_row(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    calls: int = 6,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Many calls with other values of the same shapes and types, one after the other, have their own outputs; after
    the last one all earlier outputs are still as they were."""
    outputs = []
    trial.repeatable = False  # the steady time of each call is measured elsewhere
    for number in range(calls):
        given = Given(trial, [_reseeded(each, number) for each in args], kwargs)
        outputs.append((given, trial.call(*given.with_tensors(given.tensors), **given.kwargs)))
    for given, output in outputs:
        given.check(trial, output, given.host, expect)


def refuses_traced(
    trial: Trial, args: Sequence[Any], place: int | str, word: str, kwargs: Mapping[str, Any] | None = None
) -> None:
    """An argument that must be known when a program is compiled may not be a traced value."""
    given, named = on_device(trial, args, kwargs)
    value = named[place] if isinstance(place, str) else given[place]

    def body(function: Any, value: Any) -> Any:
        def traced(value: Any) -> Any:
            if isinstance(place, str):
                return function(*given, **{**named, place: value})
            return function(*given[:place], value, *given[place + 1 :], **named)

        return jax.eval_shape(traced, value)

    kinds = ["TypeError", "ConcretizationTypeError", "ValueError"]
    trial.raises_inside(kinds, word, body, value)


def _one(trial: Trial, given: Mapping[str, Any]) -> None:
    trial.repeatable = False  # the steady time of each call is measured elsewhere
    rest = {name: value for name, value in given.items() if name != "double"}
    if given.get("double"):
        double(trial, **rest)
    else:
        call(trial, **rest)


def _failed(function: Callable[..., Any]) -> None:
    """Call the function with what no function of arrays takes; other tests check the error."""
    with contextlib.suppress(Exception):
        function(object())


def _trace(trial: Trial, given: Mapping[str, Any]) -> None:
    """Check that the traced call has the types of the plain one."""
    args, kwargs = on_device(trial, given.get("args", ()), given.get("kwargs"))
    leaves, structure = jax.tree_util.tree_flatten(args)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

    def body(function: Any, *tensors: Any) -> Any:
        def with_tensors(*tensors: Any) -> Any:
            replaced = list(leaves)
            for place, tensor in zip(places, tensors):
                replaced[place] = tensor
            return function(*jax.tree_util.tree_unflatten(structure, replaced), **kwargs)

        return jax.eval_shape(with_tensors, *tensors), with_tensors(*tensors)

    both = trial.call_inside(body, *[leaves[place] for place in places])
    trial.equal(*([(leaf.shape, str(leaf.dtype)) for leaf in jax.tree_util.tree_leaves(each)] for each in both))


def _reseeded(data: Any, by: int = _OTHER_SEED) -> Any:
    """Return the data of a call with other random values in tensors of the same shapes."""
    if isinstance(data, list):
        return [_reseeded(item, by) for item in data]
    if not isinstance(data, Mapping):
        return data
    tensor = data.get("tensor", {})
    if "shape" in tensor and "values" not in tensor:
        return {"tensor": {**tensor, "seed": tensor.get("seed", 0) + by}}
    return {name: _reseeded(item, by) for name, item in data.items()}
