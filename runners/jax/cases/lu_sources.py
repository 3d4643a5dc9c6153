"""jax.scipy.linalg.lu: lists as matrices, options without effect, and derivatives of the permuted factors."""

from __future__ import annotations

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
    for given in (rows, tuple(map(tuple, rows)), np.array(rows, "float32"), np.array(rows, "int32")):
        for options in (
            {},
            {"overwrite_a": True},
            {"check_finite": False},
            {"overwrite_a": True, "check_finite": False},
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

    def body(lu: Callable[..., Any], a: Any, change: Any, weight: Any) -> Any:
        found = {}
        for permute in (False, True):
            for place in (0, 1):

                def part(a: Any, permute: bool = permute, place: int = place) -> Any:
                    return lu(a, permute_l=permute)[place - 2]

                gradient = jax.grad(lambda a, part=part: jnp.sum(part(a) * weight))(a)
                found[permute, place] = *jax.jvp(part, (a,), (change,)), gradient
        return found

    step = 1e-6
    inputs = (trial.tensor(each.astype("float32")) for each in (host, tangent, weights))
    for (permute, place), (value, moved, gradient) in trial.call_inside(body, *inputs).items():

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
