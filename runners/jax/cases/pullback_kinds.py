"""jax.vjp: the pullback as a value that other functions take and return, its containers, and derivatives of it."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.containers import Pair


def as_argument(trial: Trial) -> None:
    """A pullback is a tree of arrays: a compiled function returns it, another one takes it, and its leaves are what it
    keeps of its point."""
    host, cotangent = trial.random(4), trial.random(4, seed=1)

    def body(vjp: Callable[..., Any], x: Any, cotangent: Any) -> Any:
        output, pull_back = jax.jit(lambda x: vjp(lambda x: jnp.sin(x) * x, x))(x)
        leaves = jax.tree_util.tree_leaves(pull_back)
        kinds = [type(leaf).__name__ for leaf in leaves]
        trial.check(leaves and all(isinstance(leaf, jax.Array) for leaf in leaves), f"expected arrays, got {kinds}")
        return output, jax.jit(lambda pull_back, cotangent: pull_back(cotangent)[0])(pull_back, cotangent)

    output, pulled = trial.call_inside(body, trial.tensor(host), trial.tensor(cotangent))
    x = widened(host)
    trial.close(output, np.sin(x) * x, dtype="float32")
    trial.close(pulled, cotangent * (np.cos(x) * x + np.sin(x)), dtype="float32")


def containers(trial: Trial) -> None:
    """Outputs and cotangents have the containers of outputs and arguments, named tuples and None too. A function
    without arguments has none, and a plain number stays weakly typed in the function."""
    host = trial.random(3)
    x = trial.tensor(host)

    def function(pair: Any, tree: Any) -> Any:
        return Pair({"none": None, "sum": pair.first + tree["x"][0]}, [pair.second * 2])

    output, pull_back = trial.call(function, Pair(x, x), {"x": [x, None], "y": None})
    trial.equal((type(output) is Pair, output.first["none"], type(output.second)), (True, None, list))
    to_pair, to_tree = pull_back(Pair({"none": None, "sum": x}, [3 * x]))
    trial.equal((type(to_pair) is Pair, to_tree["x"][1], to_tree["y"]), (True, None, None))
    for found, factor in ((to_pair.first, 1), (to_pair.second, 6), (to_tree["x"][0], 1)):
        trial.close(found, factor * widened(host), dtype="float32")
    output, pull_back = trial.call(lambda: 2 * x)
    trial.close(output, 2 * widened(host), dtype="float32")
    trial.equal(pull_back(x), ())
    half, pull_back = trial.call(lambda number: number * trial.tensor(host, "float16"), 2.0)
    trial.equal(trial.dtype_name(half), "float16")
    trial.equal(trial.dtype_name(pull_back(half)[0]), "float32")


def without_slopes(trial: Trial) -> None:
    """A mask gets a cotangent of dtype float0, and so is that of an output of integers, which has no influence."""
    host = trial.random(4)
    mask = host > 0
    float0 = jax.dtypes.float0

    def function(x: Any, mask: Any) -> Any:
        return jnp.where(mask, 3 * x, x), mask.astype("int32")

    (output, count), pull_back = trial.call(function, trial.tensor(host), trial.tensor(mask))
    to_x, to_mask = pull_back((trial.tensor(host), np.zeros(4, float0)))
    trial.close(output, np.where(mask, 3, 1) * widened(host), dtype="float32")
    trial.exact(count, mask, "int32")
    trial.close(to_x, np.where(mask, 3, 1) * widened(host), dtype="float32")
    trial.equal((to_mask.dtype == float0, to_mask.shape), (True, (4,)))


def outer_derivatives(trial: Trial) -> None:
    """Within another derivative the output, the second output of has_aux and the cotangents depend on the point, on
    what the function captures and on the given cotangent."""
    hosts = [trial.random(3, seed=seed, low=0.5, high=1.5) for seed in range(3)]

    def body(vjp: Callable[..., Any], *given: Any) -> Any:
        def with_aux(x: Any, w: Any, c: Any) -> Any:
            output, pull_back, more = vjp(lambda x: (w * x * x, w * x), x, has_aux=True)
            return output, more, pull_back(c)[0]

        def plain(x: Any, w: Any, c: Any) -> Any:
            output, pull_back = vjp(lambda x: w * x * x, x)
            return output, w * x, pull_back(c)[0]

        def both(parts: Callable[..., Any], *given: Any) -> Any:
            sums = jax.jacrev(lambda *given: [part.sum() for part in parts(*given)], argnums=(0, 1, 2))
            return sums(*given), jax.jvp(parts, given, given)

        return jax.jit(lambda *given: (both(with_aux, *given), both(plain, *given)))(*given)

    x, w, c = map(widened, hosts)
    zero = np.zeros(3)
    values = ((w * x * x, 3), (w * x, 2), (2 * w * x * c, 3))
    expected = ((2 * w * x, x * x, zero), (w, x, zero), (2 * w * c, 2 * x * c, 2 * w * x))
    trial.has_random_inputs = False  # other values would compile the same program again
    for slopes, (outputs, tangents) in trial.call_inside(body, *map(trial.tensor, hosts)):
        for found, wanted in zip(slopes, expected):
            for slope, exact in zip(found, wanted):
                trial.close(slope, exact, dtype="float32")
        for output, tangent, (value, order) in zip(outputs, tangents, values):
            trial.close(output, value, dtype="float32")
            trial.close(tangent, order * value, dtype="float32")


def aux_kinds(trial: Trial) -> None:
    """What a function returns beside its output is returned as it is: numbers with their types, text, None, containers.
    has_aux may be any true value; then the output is a pair, of nothing else. The function gets arguments by position
    only."""
    trial.repeatable = False
    leaf = object()
    for aux in (1, True, -0.0, 2.5, None, "text", b"a", leaf, (), [None, {"b": 1, "a": leaf}], np.int8(3), np.zeros(2)):
        for flag in (True, 1, np.True_):
            found = trial.call(lambda x, aux=aux: (x, aux), 2.0, has_aux=flag)
            trial.equal((type(found), len(found), float(found[0])), (tuple, 3, 2.0))
            for kept, given in zip(jax.tree_util.tree_leaves(found[2]), jax.tree_util.tree_leaves(aux)):
                trial.check(np.asarray(kept == given).all(), f"expected {given!r}, got {kept!r}")
                # Newer versions return plain numbers of classes of their own.
                trial.check(isinstance(given, np.ndarray) or not isinstance(kept, jax.Array), f"{given!r} is an array")
            trial.equal(jax.tree_util.tree_structure(found[2]) == jax.tree_util.tree_structure(aux), True)
            trial.equal([float(slope) for slope in found[1](np.float32(3))], [3.0])
    for flag in (False, 0, np.False_):
        found = trial.call(lambda x: (x, x), 2.0, has_aux=flag)
        trial.equal((type(found), len(found), type(found[0])), (tuple, 2, tuple))
    for output in (2.0, (2.0,), (2.0, 1, 2), {"a": 1, "b": 2}, None):
        trial.raises(["TypeError"], "aux", lambda x, output=output: output, 2.0, has_aux=True)
    for keywords in ({"y": 3.0}, {"axis": 0}, {"argnums": 0}):
        trial.raises(["TypeError"], "keyword", lambda x, **options: x, 2.0, **keywords)
