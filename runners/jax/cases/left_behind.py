"""What a call leaves to later ones: the caller's trees, ended traces, and nothing remembered of changed arrays."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped

# jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic


def constants_of_one_type(trial: Trial) -> None:
    """Arrays that the function closes over are constants in the order of the jaxpr's variables, so that its value is
    the function's: arrays of one shape, keys, and both."""
    host = trial.random(3)
    tables = [trial.random(3, seed=seed) for seed in (1, 2, 3)]
    words = [np.array([seed, seed + 7], "uint32") for seed in (1, 2, 3)]
    one, two, three = map(trial.tensor, tables)
    keys = [trial.tensor(each, "uint32") for each in words]

    def of_arrays(x: Any) -> list[Any]:
        return [lax.sub(lax.mul(x, one), lax.mul(two, three))]

    def of_keys(x: Any) -> list[Any]:
        return [lax.bitwise_not(keys[0]), keys[1], keys[2]]

    computed = [widened(host) * tables[0] - widened(tables[1]) * tables[2]]
    kept = [~words[0], words[1], words[2]]
    for function, expected in (
        (of_arrays, computed),
        (of_keys, kept),
        (lambda x: [*of_keys(x), *of_arrays(x)], [*kept, *computed]),
    ):
        jaxpr, _, constants = _traced(trial, function, host)
        outputs = jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host))
        trial.equal(len(outputs), len(expected))
        for output, each in zip(outputs, expected):
            if each.dtype == "uint32":
                trial.exact(output, each, "uint32")
            else:
                trial.close(output, each, rtol=1e-6, atol=1e-6, dtype="float32")


def without_outputs(trial: Trial) -> None:
    """A function without outputs keeps its equations and effects, here a callback that sees the values."""
    host = trial.random(3)
    seen: list[Any] = []

    def function(x: Any) -> list[Any]:
        jax.debug.callback(lambda y: seen.append(np.array(y)), lax.neg(x))
        return []

    jaxpr, types, constants = _traced(trial, function, host)
    trial.equal((len(types), len(jaxpr.outvars), len(jaxpr.effects)), (0, 0, 1))
    trial.equal(jaxpr.eqns[0].primitive.name, "neg")
    trial.equal(jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host)), [])
    jax.effects_barrier()
    trial.equal([(-each).tolist() for each in seen], [host.tolist()])


def ends_with_an_error(trial: Trial) -> None:
    """After an error in the function, computations are no longer traced, outside and within another trace."""
    x = trial.tensor(np.ones(2))
    aval = jax.core.ShapedArray((2,), np.dtype("float32"))

    def fails(x: Any) -> Any:
        raise KeyError("own")

    def body(trace: Callable[..., Any]) -> Any:
        _caught(lambda: trace(wrapped(fails, 1), [aval]))
        outside = lax.neg(x)
        inner: list[Any] = []

        def outer(y: Any) -> list[Any]:
            _caught(lambda: trace(wrapped(fails, 1), [aval]))
            inner.append(lax.neg(y))
            return [inner[0]]

        jaxpr = trace(wrapped(outer, 1), [aval])[0]
        return outside, lax.neg(x), isinstance(inner[0], jax.core.Tracer), len(jaxpr.eqns)

    trial.repeatable = False  # a wrapped function can be traced only once
    outside, after, is_traced, equations = trial.call_inside(body)
    for output in (outside, after):
        trial.check(not isinstance(output, jax.core.Tracer), "the trace has not ended")
        trial.exact(output, [-1, -1], "float32")
    trial.equal((is_traced, equations), (True, 1))


def _traced(trial: Trial, function: Callable[..., Any], host: Any) -> Any:
    trial.repeatable = False  # a wrapped function can be traced only once
    return trial.call(wrapped(function, 1), [jax.core.ShapedArray(host.shape, host.dtype)])


def _caught(call: Callable[[], Any]) -> None:
    try:
        call()
    except KeyError:
        return
    raise AssertionError("the function's error did not reach the caller")


# Trees


def tree_stays(trial: Trial) -> None:
    """A function of trees leaves its argument's containers and leaves as they are, and returns others."""
    arrays = [trial.tensor(trial.random(2, seed=seed)) for seed in range(3)]
    inner = {"b": arrays[0], "a": arrays[1]}
    tree = {"z": [inner, arrays[2]], "n": None}
    before = [id(inner), *map(id, arrays)]

    def body(function: Callable[..., Any]) -> Any:
        return function(tree)

    output = trial.call_inside(body)
    trial.equal([id(tree["z"][0]), id(inner["b"]), id(inner["a"]), id(tree["z"][1])], before)  # type: ignore[index]
    trial.equal((list(tree), list(inner)), (["z", "n"], ["b", "a"]))
    found = (output is tree, output["z"] is tree["z"], output["z"][0] is inner, output["n"])
    trial.equal(found, (False, False, False, None))


def mapped_again(trial: Trial) -> None:
    """The same function of the same NumPy arrays, trees and objects sees what they hold at each call."""
    first, second = np.arange(3.0), np.arange(4)
    tree = {"a": first, "b": [second]}

    def body(tree_map: Callable[..., Any]) -> Any:
        def negative(x: Any) -> Any:
            return -x

        before = tree_map(negative, tree)
        first[1], second[-1] = 7, -8
        changed = tree_map(negative, tree)
        tree["b"] = [first]
        return before, changed, tree_map(negative, tree)

    trial.repeatable = False
    before, changed, replaced = trial.call_inside(body)
    trial.equal((before["a"].tolist(), before["b"][0].tolist()), ([0, -1, -2], [0, -1, -2, -3]))
    trial.equal((changed["a"].tolist(), changed["b"][0].tolist()), ([0, -7, -2], [0, -1, -2, 8]))
    trial.equal(replaced["b"][0].tolist(), [0, -7, -2])


# Functions of each element


def same_bits(trial: Trial, size: int = 70_001, dtype: str = "float32", low: float = 0.1, high: float = 3.0) -> None:
    """Calls with one long array give the same bits, however often it is called."""
    x = trial.tensor(trial.random(size, dtype=dtype, low=low, high=high), dtype)

    def body(function: Callable[..., Any], x: Any) -> Any:
        return [function(x) for _ in range(4)]

    trial.has_random_inputs = False
    first, *others = [trial.numpy(output) for output in trial.call_inside(body, x)]
    for other in others:
        trial.equal(other.tobytes() == first.tobytes(), True)


# Values that pass through unchanged


def literals_not_finite(trial: Trial) -> None:
    """trace_to_jaxpr_dynamic: NaN, infinities and -0 that the function writes into its equations are there."""
    host = trial.random(3, low=0.5, high=2)
    numbers = (np.nan, np.inf, -np.inf, -0.0)

    def function(x: Any) -> list[Any]:
        return [lax.mul(x, np.float32(number)) for number in numbers]

    jaxpr, _, constants = _traced(trial, function, host)
    outputs = jax.core.eval_jaxpr(jaxpr, constants, trial.tensor(host))
    for output, number in zip(outputs, numbers):
        found = trial.numpy(output)
        trial.equal([repr(each) for each in found.tolist()], [repr(number)] * 3)


def scalar_leaves_have_slopes(trial: Trial) -> None:
    """tree_unflatten: derivatives of a number pass through a tree, the first and the second one."""
    structure = jax.tree_util.tree_structure({"a": 0, "b": [0, 0]})

    def body(unflatten: Callable[..., Any], x: Any) -> Any:
        def function(x: Any) -> Any:
            tree = unflatten(structure, [x, x * x, 2.0 * x])
            return tree["a"] * tree["b"][0] + 3.0 * tree["b"][1]

        return jax.grad(function)(x), jax.grad(jax.grad(function))(x)

    first, second = trial.call_inside(body, trial.tensor(np.float32(1.5)))
    trial.close(first, 3 * 1.5**2 + 6, rtol=1e-6, dtype="float32")
    trial.close(second, 6 * 1.5, rtol=1e-6, dtype="float32")
