"""jax.lax.top_k of NumPy arrays, call after call, mapped by other axes, and derivatives in both directions."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.surroundings import watched


def of_hosts(trial: Trial, dtype: str) -> None:
    """NumPy arrays, also views that are reversed or turned, have the elements and places of arrays of the device, stay
    as they are, and have new outputs when they have changed; nothing around the call changes. Equal elements are in
    the order of their places. The outputs are arrays of the device, and are not weakly typed."""
    host = (trial.random(6, 5) * 4).astype("int32").astype(dtype)
    trial.repeatable = False  # each call is one of a row
    # These calls compile.
    trial.call(host, 2)
    trial.call(np.ascontiguousarray(host.T), 2)
    for number in range(2):
        for given in (host, host[::-1], host[:, ::-1], host.T, np.asfortranarray(host)):
            before = given.tobytes()
            with watched(trial):
                outputs = trial.call(given, 2)
            trial.equal((given.tobytes(), len(outputs)), (before, 2))
            _check(trial, outputs, given, 2, dtype)
            _check(trial, trial.call(operand=trial.tensor(given, dtype), k=2), given, 2, dtype)
        host[...] = host[::-1, ::-1].copy() + (1 - number)


def sizes(trial: Trial, shape: Any) -> None:
    """None, one, some and all elements of rows of each length, in arrays that have many rows or many blocks of them.
    Another number of elements is not that of the call before."""
    host = np.argsort(trial.random(*shape), axis=-1, kind="stable").astype("float32") - 40
    trial.repeatable = False  # each call is one of a row
    for k in (0, 1, shape[-1] // 2, shape[-1] - 1, shape[-1]):
        for given in (k, np.int32(k)):
            _check(trial, trial.call(trial.tensor(host), given), host, k, "float32")


def mapped_and_sloped(trial: Trial) -> None:
    """Mapped by another axis each row has its own elements. A tangent is moved with its element, a cotangent goes back
    to its place, and the second derivative is that of the function of the elements."""
    host, change, weight = trial.random(3, 5), trial.random(3, 5, seed=1), trial.random(3, 2, seed=2)

    def body(top_k: Callable[..., Any], x: Any, change: Any, weight: Any) -> Any:
        def program(x: Any, change: Any, weight: Any) -> Any:
            def cubes(x: Any) -> Any:
                return jnp.sum(weight * top_k(x, 2)[0] ** 3)

            turned = jax.vmap(lambda row: top_k(row, 2), in_axes=1, out_axes=1)(x.T)
            moved = jax.jvp(lambda x: top_k(x, 2)[0], (x,), (change,))[1]
            return (turned, moved, *jax.jvp(jax.grad(cubes), (x,), (change,)))

        return jax.jit(program)(x, change, weight)  # one program compiles sooner than each step

    inputs = map(trial.tensor, (host, change, weight))
    turned, moved, gradient, second = trial.call_inside(body, *inputs)
    _check(trial, [each.T for each in turned], host, 2, "float32")
    order = np.argsort(-host, axis=-1, kind="stable")[:, :2]
    wide, rows = host.astype("float64"), np.arange(3)[:, None]
    trial.exact(moved, np.take_along_axis(change, order, 1), "float32")
    slopes, curves = np.zeros((3, 5)), np.zeros((3, 5))
    slopes[rows, order] = 3 * weight * wide[rows, order] ** 2
    curves[rows, order] = 6 * weight * wide[rows, order] * change[rows, order]
    trial.close(gradient, slopes, rtol=1e-5, dtype="float32")
    trial.close(second, curves, rtol=1e-5, dtype="float32")


def _check(trial: Trial, outputs: Any, host: Any, k: int, dtype: str) -> None:
    order = np.argsort(-host.astype("float64"), axis=-1, kind="stable")[..., :k]
    for output in outputs:
        trial.check(isinstance(output, jax.Array), f"expected an array of the device, got {type(output).__name__}")
        trial.equal(bool(output.weak_type), False)
    trial.exact(outputs[0], np.take_along_axis(host, order, -1), dtype)
    trial.exact(outputs[1], order, "int32")
