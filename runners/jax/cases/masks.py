"""Reductions under a condition or with weights: long axes, half precision, hidden values, and one condition after
another. The reference is NumPy in float64."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_SHAPES = ((3, 300), (300, 3))


def one_after_another(trial: Trial, of: str, dtype: str = "float32") -> None:
    """Conditions of the same shape have their own outputs, on long axes of both places, as arrays of NumPy and of the
    device; what they hide may be NaN or infinite. With ``initial`` below zero, that counts too."""
    exact = getattr(np, of)
    trial.repeatable = False  # each call is one of a row
    for shape in _SHAPES:
        axis = int(np.argmax(shape))
        plain = trial.random(*shape, low=0.97, high=1.03)
        if of == "all":
            plain = trial.random(*shape, dtype="bool")
        for seed in (1, 2):
            condition = trial.random(*shape, dtype="bool", seed=seed)
            condition[0, 0] = True
            host = np.array(trial.numpy(trial.tensor(plain, "bool" if of == "all" else dtype)))
            if dtype == "complex64":
                host = (host + 0.25j * host[::-1, ::-1]).astype(dtype)
            if host.dtype.kind not in "biu":
                host[~condition] = np.resize([np.nan, np.inf, 3], int((~condition).sum()))
            more = {"initial": -1.5} if of == "max" or (of in ("sum", "prod") and seed == 2) else {}
            with np.errstate(all="ignore"):
                expected = exact(widened(host), axis=axis, where=condition, **more)
            if of == "all":
                expected = exact(host, axis=axis, where=condition)
            for given in (condition, trial.tensor(condition)):
                output = trial.call(trial.tensor(host, "bool" if of == "all" else dtype), axis, where=given, **more)
                trial.close(output, expected, rtol=_rtol(of, dtype), dtype="bool" if of == "all" else dtype)


def hidden_slopes(trial: Trial, of: str) -> None:
    """What a condition hides has a gradient of zero, the rest that of the array without it."""
    host = trial.random(2, 5, low=0.5, high=1.5)
    condition = np.array([[True, False, True, True, False], [False, True, True, False, True]])
    shown = host.astype("float64")

    def body(function: Callable[..., Any], x: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(function(x, axis=1, where=jnp.asarray(condition))))(x)

    count = condition.sum(axis=1, keepdims=True)
    mean = np.where(condition, shown, 0).sum(axis=1, keepdims=True) / count
    slopes = {
        "sum": np.ones_like(shown),
        "mean": np.broadcast_to(1 / count, shown.shape),
        "var": 2 * (shown - mean) / count,
        "prod": np.where(condition, shown, 1).prod(axis=1, keepdims=True) / shown,
    }[of]
    output = trial.call_inside(body, trial.tensor(host))
    trial.close(output, np.where(condition, slopes, 0), rtol=2e-5, atol=1e-6, dtype="float32")


def many_axes(trial: Trial, of: str) -> None:
    """Of three and six axes, some from either end, pairs and three in any order, none and all are reduced, also with
    keepdims, within one compiled program and outside of it, and under a NumPy condition of fewer axes."""
    exact = getattr(np, of)
    over = {
        (2, 3, 4): [(), (0, -1), (-2, 0), (2, -2), (-1, 1, 0)],
        (2, 1, 3, 2, 1, 2): [-1, -4, 5, (5, -6), (1, -4, 5)],
    }
    if of == "var":  # each of its programs compiles for long
        over = {(2, 3, 4): [(0, -1)], (2, 1, 3, 2, 1, 2): [-4, (5, -6)]}

    def body(function: Callable[..., Any], x: Any, axes: Any) -> Any:
        def program(x: Any) -> Any:
            return [function(x, axis=axis, keepdims=x.ndim == 6) for axis in axes]

        return jax.jit(program)(x)

    trial.repeatable = False  # each call is one of a row
    trial.has_random_inputs = False  # other values would compile the same programs again
    for shape, axes in over.items():
        host = trial.random(*shape, dtype="bool" if of == "all" else "float32")
        dtype, wide = host.dtype.name, host if of == "all" else widened(host)
        moved = trial.tensor(host)
        for axis, output in zip(axes, trial.call_inside(body, moved, axes)):
            expected = exact(wide, axis=axis, keepdims=host.ndim == 6)
            trial.close(output, expected, rtol=1e-5, atol=1e-6, dtype=dtype)
    trial.close(trial.call(moved, -1), exact(wide, axis=-1), rtol=1e-5, atol=1e-6, dtype=dtype)
    options = {"where": np.array([True, False]), **({"initial": -3.0} if of == "max" else {})}
    trial.close(trial.call(moved, 2, **options), exact(wide, axis=2, **options), rtol=1e-5, atol=1e-6, dtype=dtype)


def weights_in_turn(trial: Trial) -> None:
    """jax.numpy.average: weights of the same shape have their own outputs and sums, of long axes at both places, as
    arrays of NumPy and of the device, of other dtypes than the array, and complex ones."""
    trial.repeatable = False  # each call is one of a row
    for shape, dtypes in ((_SHAPES[0], ("float32", "int8")), (_SHAPES[1], ("float32", "complex64"))):
        axis = int(np.argmax(shape))
        host = trial.random(*shape)
        for dtype in dtypes:
            for seed in (1, 2):
                kinds = {"low": 1, "high": 9} if dtype == "int8" else {}
                weights = trial.random(300, dtype=dtype, seed=seed, **kinds) + (1 if dtype != "int8" else 0)
                weights = weights.astype(dtype)
                expected = np.average(widened(host), axis=axis, weights=widened(weights))
                sums = np.broadcast_to(widened(weights).sum(), (3,))
                for given in (weights, trial.tensor(weights)):
                    output = trial.call(trial.tensor(host), axis, given, returned=True)
                    name = "complex64" if dtype == "complex64" else "float32"
                    trial.equal((type(output), len(output)), (tuple, 2))
                    trial.close(output[0], expected, rtol=1e-5, atol=1e-5, dtype=name)
                    trial.close(output[1], sums, rtol=1e-5, dtype=name)


def special_weights(trial: Trial) -> None:
    """jax.numpy.average: infinite and NaN weights and values give NaN where their quotient is; of half precision, the
    output has the wider type of both."""
    trial.repeatable = False  # each call is one of a row
    host = np.array([[1, 2, 3], [4, 5, 6]], "float32")
    values = ([1, np.inf, 1], [np.nan, 1, 1], [0, 1, 0], [-1, 2, 3], [np.inf, 1, -np.inf])
    for weights in values:
        for given in (np.array(weights, "float32"), trial.tensor(np.array(weights, "float32"))):
            with np.errstate(all="ignore"):
                expected = np.average(host.astype("float64"), axis=1, weights=np.array(weights, "float64"))
            trial.close(trial.call(trial.tensor(host), 1, given), expected, rtol=1e-6, dtype="float32")
    for left, right, dtype in (
        ("float32", "bfloat16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
    ):
        array, weights = trial.tensor(trial.random(2, 3), left), trial.tensor(trial.random(3, low=0.5, seed=1), right)
        wide = [widened(np.asarray(trial.numpy(each).astype("float32"))) for each in (array, weights)]
        expected = np.average(wide[0], axis=1, weights=wide[1])
        trial.close(trial.call(array, axis=1, weights=weights), expected, rtol=1e-5, dtype=dtype)


def _rtol(of: str, dtype: str) -> float:
    steps = {"sum": 2, "mean": 2, "var": 8, "prod": 40, "max": 1, "all": 1}[of]
    return steps * {"float32": 3e-6, "float16": 2e-3, "bfloat16": 1.6e-2, "complex64": 3e-6}[dtype]
