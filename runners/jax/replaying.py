"""What replays of recorded calls need of JAX: marked arrays, gradients, keys, methods of arrays as functions."""

from __future__ import annotations

import functools
import inspect
import weakref
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

_marked: dict[int, Any] = {}
"""The arrays that gradients are wanted of, by identity: arrays cannot be hashed, nor carry a mark themselves."""


def marked(array: Any) -> Any:
    number = id(array)
    _marked[number] = weakref.ref(array, lambda _: _marked.pop(number, None))
    return array


def keys(array: Any, dtype: str) -> Any:
    """Typed keys of random numbers from an array of seeds; ``dtype`` is such as ``key<fry>``."""
    if "impl" in inspect.signature(jax.random.key).parameters:
        implementation = next(name for name in ("threefry2x32", "rbg", "unsafe_rbg") if _tag(name) == dtype)
        make = functools.partial(jax.random.key, impl=implementation)
    else:
        # Older versions have only the first.
        make = jax.random.key
    for _ in range(np.ndim(array)):
        make = jax.vmap(make)
    return make(np.asarray(array, "uint32"))


def _tag(implementation: str) -> str:
    return str(jax.random.key(0, impl=implementation).dtype)


def as_function(found: Any) -> Callable[..., Any]:
    """Methods of ``jax.Array`` are abstract in older versions. Its property ``at`` takes an index, the name of an
    update, and what the update takes: ``x.at[index].set(0.0)``."""
    if isinstance(found, property):

        def update(array: Any, index: Any, method: str, *args: Any, **kwargs: Any) -> Any:
            return getattr(array.at[index], method)(*args, **kwargs)

        return update
    name = next((name for name, value in vars(jax.Array).items() if value is found), None)
    if name is None:
        return found  # type: ignore[no-any-return]

    def method(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, str(name))(*args, **kwargs)

    return method


def with_gradients(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """See runners.core.adapter.Adapter. JAX's arrays never change, so the arguments are returned as they are."""
    leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if is_marked(leaf)]
    outputs: list[Any] = []

    def floating(*values: Any) -> Any:
        inputs = dict(zip(places, values))
        given, named = structure.unflatten([inputs.get(place, leaf) for place, leaf in enumerate(leaves)])
        outputs[:] = jax.tree_util.tree_flatten(function(*given, **named))
        found = [leaf for leaf in outputs[0] if isinstance(leaf, jax.Array)]
        return [leaf for leaf in found if _is_floating(leaf)], found

    floats, pullback, arrays = jax.vjp(floating, *[leaves[place] for place in places], has_aux=True)
    known = iter(arrays)
    output = outputs[1].unflatten([next(known) if isinstance(leaf, jax.Array) else leaf for leaf in outputs[0]])
    return output, list(pullback([jax.numpy.ones_like(each) for each in floats])), (args, kwargs)


def is_marked(leaf: Any) -> bool:
    """Whether gradients are wanted of an array."""
    found = _marked.get(id(leaf))
    return found is not None and found() is leaf


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)
