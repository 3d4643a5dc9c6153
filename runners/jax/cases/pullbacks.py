"""jax.vjp: the pullback of a function of several arguments and outputs, and what it refuses."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def several_outputs(trial: Trial) -> None:
    """Cotangents are nested as the outputs. The pullback can be called again, sums over what was broadcast, and has a
    cotangent for each use of one array and for a plain number."""
    x, bias = trial.random(5, 7), trial.random(7, seed=1)

    def function(a: Any, b: Any, bias: Any, factor: Any) -> Any:
        return {"sum": a * b + bias, "parts": (factor * a.sum(axis=0), b[::2, 1])}

    moved = trial.tensor(x)
    # Compiled: step by step it would be many programs.
    output, pull_back = trial.call(jax.jit(function), moved, moved, trial.tensor(bias), 3.0)
    exact = widened(x)
    # Sums of up to 35 products of about one, in float32.
    allowed = {"rtol": 1e-5, "atol": 1e-5, "dtype": "float32"}
    trial.close(output["sum"], exact**2 + bias, **allowed)
    trial.close(output["parts"][0], 3 * exact.sum(axis=0), **allowed)
    trial.exact(output["parts"][1], x[::2, 1], "float32")
    for seed in (10, 20):
        whole, columns, part = (trial.random(*shape, seed=seed + shape[0]) for shape in ((5, 7), (7,), (3,)))
        given = {"sum": trial.tensor(whole), "parts": (trial.tensor(columns), trial.tensor(part))}
        to_a, to_b, to_bias, to_factor = pull_back(given)
        placed = np.zeros((5, 7))
        placed[::2, 1] = part
        trial.close(to_a, whole * exact + 3 * widened(columns), **allowed)
        trial.close(to_b, whole * exact + placed, **allowed)
        trial.close(to_bias, widened(whole).sum(axis=0), **allowed)
        trial.close(to_factor, (columns * exact.sum(axis=0)).sum(), **allowed)


def jacobian_and_hessian(trial: Trial) -> None:
    """The pullback, mapped over unit vectors and compiled, gives the Jacobian; the pullback of a pullback gives second
    derivatives."""
    matrix, x, v = trial.random(4, 7), trial.random(7, seed=1), trial.random(7, seed=2)

    def body(vjp: Callable[..., Any], *given: Any) -> Any:
        # The matrix is an argument: JAX 0.12 reads what a compiled function captures.
        def both(matrix: Any, x: Any, v: Any) -> Any:
            def waves(x: Any) -> Any:
                return jnp.sin((matrix * x).sum(axis=1))

            def slope(x: Any) -> Any:
                output, pull_back = vjp(lambda x: jnp.sum(waves(x)), x)
                return pull_back(jnp.ones_like(output))[0]

            return jax.vmap(vjp(waves, x)[1])(jnp.eye(4))[0], vjp(slope, x)[1](v)[0]

        return jax.jit(both)(*given)

    jacobian, along = trial.call_inside(body, *map(trial.tensor, (matrix, x, v)))
    a = widened(matrix)
    phases = (a * x).sum(axis=1)
    # Sums of seven and then four products, in float32.
    allowed = {"rtol": 1e-5, "atol": 2e-5, "dtype": "float32"}
    trial.close(jacobian, np.cos(phases)[:, None] * a, **allowed)
    trial.close(along, -(a.T * np.sin(phases)) @ a @ v, **allowed)


def called_again(trial: Trial) -> None:
    """What a pullback returns depends on its own cotangent and point alone, not on earlier calls, of it or another."""
    points = [trial.random(3, 4, seed=seed) for seed in range(2)]
    cotangents = [trial.random(3, 4, seed=seed) for seed in range(2, 4)]
    functions = ((jnp.sin, np.sin, np.cos), (lambda x: 3 * x, lambda x: 3 * x, lambda x: 3 * np.ones_like(x)))
    made = []
    for function, value, slope in functions:
        for host in points:
            output, pull_back = trial.call(function, trial.tensor(host))
            trial.close(output, value(widened(host)), dtype="float32")
            made.append((pull_back, slope(widened(host))))
    for cotangent in (*cotangents, np.zeros((3, 4), "float32"), cotangents[0]):
        for pull_back, factor in made:
            (found,) = pull_back(trial.tensor(cotangent))
            trial.close(found, cotangent * factor, dtype="float32")


def refuses_cotangent(trial: Trial) -> None:
    """The pullback refuses a cotangent with another shape, dtype or nesting than the output: it neither broadcasts nor
    converts. The same pullback still takes a right one."""
    host = trial.random(3, 4)
    x = trial.tensor(host)
    made: list[Any] = []

    def body(vjp: Callable[..., Any], cotangent: Any) -> Any:
        output, pull_back = vjp(jnp.sin, x)
        made[:] = [pull_back]
        trial.close(output, np.sin(widened(host)), dtype="float32")
        return pull_back(cotangent)

    errors = ["ValueError", "TypeError"]
    for shape in ((3,), (4,), (), (1, 4), (3, 1), (4, 3), (1, 3, 4), (2, 3, 4), (12,)):
        trial.raises_inside(errors, "vjp", body, trial.tensor(trial.random(*shape, seed=1)))
    trial.raises_inside(errors, "vjp", body, 1.0)
    for dtype in ("float16", "bfloat16", "int32", "bool", "complex64"):
        trial.raises_inside(errors, "vjp", body, trial.tensor(trial.random(3, 4, dtype=dtype), dtype))
    for nested in ([x], (x, x), {}, None):
        trial.raises_inside(errors, "tree structure", body, nested)

    def of_two(vjp: Callable[..., Any], cotangent: Any) -> Any:
        return vjp(lambda x: (x.sum(axis=1), x.astype("float16")), x)[1](cotangent)

    row, half = trial.tensor(trial.random(3, seed=2)), trial.tensor(host, "float16")
    for pair in ((row, x), (row, half[:1]), (row[:1], half), (half, row)):
        trial.raises_inside(errors, "vjp", of_two, pair)
    trial.close(made[0](x)[0], widened(host) * np.cos(widened(host)), dtype="float32")


def equal_sizes(trial: Trial) -> None:
    """Where all sizes are equal, a pullback still turns back what the function turned: axes, a product's sides, an
    order of rows in which some are repeated, and a sum up to each element. All are in one compiled program."""
    host, other = trial.random(3, 3, 3), trial.random(3, 3, seed=1)
    cotangent = trial.random(3, 3, 3, seed=2)
    order, repeated = np.array([1, 2, 0]), np.array([2, 2, 0])
    summed = np.zeros((3, 3, 3))
    np.add.at(summed, repeated, widened(cotangent))
    back = np.flip(np.cumsum(np.flip(widened(cotangent), 1), axis=1), 1)
    pairs: Sequence[tuple[Callable[[Any], Any], Any]] = (
        (lambda x: jnp.transpose(x, (1, 2, 0)), np.transpose(cotangent, (2, 0, 1))),
        (lambda x: x[order], cotangent[np.argsort(order)]),
        (lambda x: x[:, :, order], cotangent[:, :, np.argsort(order)]),
        (lambda x: x[repeated], summed),
        (lambda x: jnp.roll(x, 1, axis=2), np.roll(cotangent, -1, axis=2)),
        (lambda x: jnp.cumsum(x, axis=1), back),
        (lambda x: x @ other, widened(cotangent) @ other.T),
        (lambda x: jnp.asarray(other) @ x, other.T.astype("float64") @ cotangent),
        (lambda x: jnp.einsum("ijk,il->kjl", x, other), np.einsum("kjl,il->ijk", widened(cotangent), other)),
    )

    def body(vjp: Callable[..., Any], x: Any, cotangent: Any) -> Any:
        def pulled(x: Any, cotangent: Any) -> Any:
            made = [vjp(function, x) for function, _ in pairs]
            return [(output, pull_back(cotangent)[0]) for output, pull_back in made]

        return jax.jit(pulled)(x, cotangent)

    trial.has_random_inputs = False  # other values would compile the same program again
    found = trial.call_inside(body, trial.tensor(host), trial.tensor(cotangent))
    for (output, pulled), (_, expected) in zip(found, pairs):
        trial.equal(output.shape, (3, 3, 3))
        # Sums of three products of about one.
        trial.close(pulled, expected, rtol=1e-6, atol=2e-6, dtype="float32")


def many_arguments(trial: Trial) -> None:
    """Of many arguments of one shape each has its own cotangent; long ones have them up to the last element, and NaN,
    infinities and zeros of a cotangent stay where they are."""
    hosts = [trial.random(1030, seed=seed) for seed in range(20)]
    cotangents = [trial.random(1030, seed=100 + seed) for seed in range(20)]
    cotangents[3][[0, 517, 1029]] = [np.nan, np.inf, -np.inf]
    cotangents[4][[1, 1029]] = 0

    def scaled(*arrays: Any) -> Any:
        return [(number - 9.5) * array for number, array in enumerate(reversed(arrays))]

    outputs, pull_back = trial.call(scaled, *map(trial.tensor, hosts))
    pulled = pull_back(list(map(trial.tensor, cotangents)))
    trial.equal((len(outputs), len(pulled)), (20, 20))
    for number in range(20):
        factor = np.float32(number - 9.5)
        trial.exact(outputs[number], factor * hosts[19 - number], "float32")
        trial.exact(pulled[19 - number], factor * cotangents[number], "float32")
