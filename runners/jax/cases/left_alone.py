"""What a call leaves alone: settings, generators and all arguments, also after an error and in a trace."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given
from runners.jax.containers import Pair
from runners.jax.surroundings import watched


def left_alone(
    trial: Trial,
    args: Sequence[Any],
    expect: Mapping[str, Any],
    kwargs: Mapping[str, Any] | None = None,
    hosts: bool = True,
    refuses: bool = True,
    traced: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Calls with arrays of the device and with NumPy's, a traced one and one that fails change nothing around them, no
    argument and no keyword; NumPy arrays can be written to as before. The outputs are right before and after.

    The arguments and ``expect`` are those of a manifest's ``call``. Without ``hosts`` no NumPy arrays are given,
    without ``refuses`` no call fails, without ``traced`` none is traced.
    """
    given = Given(trial, args, kwargs)
    arrays = [np.array(trial.numpy(tensor)) for tensor in given.tensors]
    kept = [array.copy() for array in arrays]
    positional = given.with_tensors(given.tensors)
    of_hosts = given.with_tensors(arrays) if hosts else positional
    named = {name: _of_host(value) if hosts else value for name, value in given.kwargs.items()}
    named_before = {name: np.array(value).tobytes() for name, value in named.items() if isinstance(value, np.ndarray)}
    trial.repeatable = False  # each call is one of a row

    def body(function: Callable[..., Any]) -> list[Any]:
        # The first calls may compile.
        function(*positional, **given.kwargs)
        function(*of_hosts, **named)
        described = _described((positional, of_hosts, given.kwargs, named))
        with watched(trial):
            found = [function(*positional, **given.kwargs), function(*of_hosts, **named)]
            if refuses:
                with contextlib.suppress(Exception):
                    function(object())
            if traced:
                jax.eval_shape(lambda tensors: function(*given.with_tensors(tensors), **given.kwargs), given.tensors)
            found.append(function(*positional, **given.kwargs))
        trial.equal(_described((positional, of_hosts, given.kwargs, named)), described)
        return found

    for output in trial.call_inside(body):
        given.check(trial, output, given.host, expect, rtol, atol)
    for tensor, array, wanted in zip(given.tensors, arrays, kept):
        trial.exact(tensor, wanted)
        trial.equal((array.tobytes(), array.flags.writeable), (wanted.tobytes(), True))
        trial.equal((array.shape, array.strides, array.dtype), (wanted.shape, wanted.strides, wanted.dtype))
    trial.equal({name: named[name].tobytes() for name in named_before}, named_before)


def in_containers(trial: Trial, name: str) -> None:
    """tree_map, tree_unflatten, Partial and stop_gradient leave containers, their leaves and what surrounds them alone;
    what they return is another container at each call, with the very same order of keys."""
    host = np.arange(3.0, dtype="float32")
    tree = {"b": [1, host], "a": Pair(2.5, None), "c": ({}, ())}
    leaves, structure = jax.tree_util.tree_flatten(tree)
    before, listed = copy.deepcopy(tree), list(leaves)

    def body(function: Callable[..., Any]) -> Any:
        called = {
            "tree_map": lambda: function(lambda leaf: leaf, tree),
            "tree_unflatten": lambda: function(structure, leaves),
            "stop_gradient": lambda: function(tree),
            "Partial": lambda: function(dict, tree)(),
        }[name]
        called()
        with watched(trial):
            found, again = called(), called()
        trial.check(found is not again, "two calls return the same container")
        for key in ("b", "c") if name != "Partial" else ():
            trial.check(all(found[key] is not each for each in tree.values()), "a container is that of the argument")
        trial.check(name == "Partial" or found["b"] is not again["b"], "two calls return the same container")
        return found

    found = trial.call_inside(body)
    trial.check(found is not tree, "the output is the argument itself")
    trial.equal([type(found), type(found["a"]), type(found["b"]), type(found["c"])], [dict, Pair, list, tuple])
    for each in (found, tree):
        trial.equal(each["a"].second, None)
        trial.equal(each["c"], ({}, ()))
        trial.equal((each["b"][0], each["a"].first), (1, 2.5))
        trial.equal(np.asarray(each["b"][1]).tobytes(), before["b"][1].tobytes())
    trial.equal(list(tree), list(before))
    trial.check(len(leaves) == len(listed) and all(a is b for a, b in zip(leaves, listed)), "the leaves have changed")
    trial.equal(host.flags.writeable, True)


def in_context(trial: Trial) -> None:
    """jax.core.eval_context: inside, within a compiled function and after an error, JAX's settings are those of
    outside, nothing is printed, and the context has no value of its own."""
    x = trial.tensor(trial.random(4))

    def body(eval_context: Callable[..., Any], x: Any) -> Any:
        def traced(y: Any) -> Any:
            with eval_context() as value:
                inside = jnp.sum(x) + 1
            return y * float(inside), value

        with watched(trial), eval_context() as value:
            trial.equal(value, None)
            with watched(trial, inner=True):
                total = jnp.sum(x) + 1
        with watched(trial):
            for error in (ValueError("one"), KeyError("two"), StopIteration("three")):
                try:
                    with eval_context():
                        raise error
                except (ValueError, KeyError, StopIteration) as found:
                    trial.check(found is error, f"another error arrived: {found!r}")
                except RuntimeError as found:
                    trial.check(isinstance(error, StopIteration), f"another error arrived: {found!r}")
                else:
                    trial.check(False, f"the error is lost: {error!r}")
        with watched(trial):
            product = jax.jit(lambda y: traced(y)[0])(x)
        return total, product, jnp.sum(x) + 1

    total, product, after = trial.call_inside(body, x)
    host = trial.numpy(x).astype("float64")
    for output in (total, after):
        trial.close(output, host.sum() + 1, dtype="float32")
    trial.close(product, host * (host.sum() + 1), rtol=1e-5, dtype="float32")


def _of_host(value: Any) -> Any:
    """Return a copy of an array of the device as NumPy's, and anything else as it is."""
    return np.array(value) if isinstance(value, jax.Array) else value


def _described(tree: Any) -> list[Any]:
    """Return what must stay the same of arguments: their structure, and each leaf's identity."""
    leaves, structure = jax.tree_util.tree_flatten(tree)
    return [str(structure), [id(leaf) for leaf in leaves]]
