"""jax.scipy.linalg.lu: lists as matrices, options without effect, and derivatives of the permuted factors."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def of_sources(trial: Trial) -> None:
    """Lists, tuples and NumPy arrays of floats and integers have the factors of the matrix, with overwrite_a and
    check_finite too, and a NumPy array stays as it is. With permute_l the first factor is the product of both."""
    rows = [[1.0, 2.0, 4.0], [4.0, 3.0, 1.0], [2.0, 6.0, 5.0]]
    exact = np.array(rows)
    trial.repeatable = False  # each call is one of a row
    for given, options in (
        (rows, {}),
        (tuple(map(tuple, rows)), {"check_finite": False}),
        (np.array(rows, "float32"), {"overwrite_a": True}),
        (np.array(rows, "int32"), {"overwrite_a": True, "check_finite": False}),
    ):
        factors = trial.call(given, **options)
        p, lower, upper = (trial.numpy(each).astype("float64") for each in factors)
        trial.equal([trial.dtype_name(each) for each in factors], ["float32"] * 3)
        trial.equal(p.tolist(), [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
        trial.close(p @ lower @ upper, exact, rtol=1e-5)
        permuted, again = trial.call(given, permute_l=True, **options)
        trial.close(permuted, p @ lower, rtol=1e-6, dtype="float32")
        trial.close(again, upper, rtol=1e-6, dtype="float32")
        trial.equal(np.array(given).tolist(), exact.tolist())


def slopes_of_factors(trial: Trial) -> None:
    """The tangents of the factors, permuted or not, multiply to the tangent of the matrix, and the gradient of each
    factor is that of differences."""
    host = np.array([[1.0, 2.0, 4.0], [4.0, 3.0, 1.0], [2.0, 6.0, 5.0]])
    tangent = np.array(trial.random(3, 3, seed=1)).astype("float64")
    weights = np.array(trial.random(3, 3, seed=2)).astype("float64")
    order = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])

    def factors(matrix: Any) -> Any:
        """Return both factors of the matrix whose rows are in the right order, by elimination."""
        upper, lower = order.T @ matrix, np.eye(3)
        for column in range(2):
            for row in range(column + 1, 3):
                lower[row, column] = upper[row, column] / upper[column, column]
                upper[row] = upper[row] - lower[row, column] * upper[column]
        return lower, upper

    @lru_cache(maxsize=1)
    def made(lu: Callable[..., Any]) -> Callable[..., Any]:
        def of(a: Any, change: Any, weight: Any, permute: bool) -> Any:
            def factors(a: Any) -> Any:
                return lu(a, permute_l=permute)[-2:]

            values, moved = jax.jvp(factors, (a,), (change,))
            pull_back, none = jax.vjp(factors, a)[1], jnp.zeros_like(weight)
            return list(zip(values, moved, [pull_back(each)[0] for each in ((weight, none), (none, weight))]))

        return jax.jit(lambda *inputs: [of(*inputs, permute=permute) for permute in (False, True)])

    step = 1e-6
    inputs = (trial.tensor(each.astype("float32")) for each in (host, tangent, weights))
    trial.has_random_inputs = False  # other values would compile the same program again
    found = trial.call_inside(lambda lu, *inputs: made(lu)(*inputs), *inputs)
    for permute, place in itertools.product((False, True), (0, 1)):
        value, moved, gradient = found[permute][place]

        def exact(matrix: Any, permute: bool = permute, place: int = place) -> Any:
            both = factors(matrix)
            return order @ both[0] if permute and place == 0 else both[place]

        trial.close(value, exact(host), rtol=1e-5, atol=1e-5, dtype="float32")
        change = (exact(host + step * tangent) - exact(host - step * tangent)) / (2 * step)
        trial.close(moved, change, rtol=1e-4, atol=1e-4, dtype="float32")
        wanted = np.zeros((3, 3))
        for index in np.ndindex(3, 3):
            unit = np.zeros((3, 3))
            unit[index] = step
            wanted[index] = np.sum(weights * (exact(host + unit) - exact(host - unit))) / (2 * step)
        trial.close(gradient, wanted, rtol=1e-4, atol=1e-4, dtype="float32")
