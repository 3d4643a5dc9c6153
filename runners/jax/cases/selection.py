"""Choosing and marking elements: jax.lax.top_k and jax.nn.one_hot."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial


def one_hot(
    trial: Trial, shape: list[int], classes: int, indices: str = "int32", dtype: str = "float32", axis: int = -1
) -> None:
    """One where the label is the class and zero elsewhere, along the axis; all zeros for labels that are no class."""
    labels = trial.random(*shape, dtype=indices, low=0 if indices.startswith("u") else -1, high=classes + 2)
    output = trial.call(trial.tensor(labels), classes, dtype=trial.dtype(dtype), axis=axis)
    trial.close(output, _one_hot(labels, classes, axis), dtype=dtype)


def one_hot_compiled(trial: Trial) -> None:
    """Compiled with a fixed number of classes it gives the same."""
    labels = trial.random(32, 8, dtype="int32", low=-1, high=9)
    output = trial.call_inside(lambda one_hot, labels: _compiled(one_hot)(labels, 7), trial.tensor(labels))
    trial.close(output, _one_hot(labels, 7, -1), dtype="float32")


def top_k(trial: Trial, shape: list[int], k: int, dtype: str = "float32") -> None:
    """The k largest of the last axis, largest first, with their places; of equal ones the first comes first."""
    operand = trial.tensor(trial.random(*shape, dtype=dtype), dtype)
    values, places = trial.call(operand, k)
    expected, order = _largest(trial.numpy(operand), k)
    trial.close(values, expected, rtol=0, atol=0, dtype=dtype)
    trial.equal(trial.dtype_name(places), "int32")
    trial.equal(places, order)


def top_k_compiled(trial: Trial) -> None:
    """Compiled and mapped over rows it gives the same."""
    host = trial.random(16, 64)
    values, places = trial.call_inside(lambda top_k, rows: _mapped_and_compiled(top_k)(rows), trial.tensor(host))
    expected, order = _largest(host, 5)
    trial.close(values, expected, rtol=0, atol=0, dtype="float32")
    trial.equal(places, order)


def top_k_gradient(trial: Trial) -> None:
    """A change of the largest elements, and of no other, changes the output, which comes with the gradient."""
    host, weights = trial.random(4, 32), trial.random(4, 3, seed=1)

    def body(top_k: Callable[..., Any], operand: Any, weights: Any) -> Any:
        def weighted(operand: Any) -> Any:
            output = top_k(operand, 3)
            return jnp.sum(output[0] * weights), output

        return jax.grad(weighted, has_aux=True)(operand)

    largest, order = _largest(host, 3)
    expected = np.zeros_like(host)
    np.put_along_axis(expected, order, weights, axis=-1)
    gradient, (values, places) = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    trial.close(values, largest, rtol=0, atol=0, dtype="float32")
    trial.equal(places, order)
    trial.close(gradient, expected, dtype="float32")


@lru_cache(maxsize=1)
def _compiled(one_hot: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled once for each function, so that calling again does not compile again."""
    return jax.jit(one_hot, static_argnums=1)


@lru_cache(maxsize=1)
def _mapped_and_compiled(top_k: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(jax.vmap(lambda row: top_k(row, 5)))


def _one_hot(labels: Any, classes: int, axis: int) -> Any:
    return np.moveaxis(labels[..., None] == np.arange(classes), -1, axis).astype("float64")


def _largest(operand: Any, k: int) -> tuple[Any, Any]:
    comparable = operand.astype("float64" if operand.dtype.kind == "f" else "int64")
    order = np.argsort(-comparable, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, order, axis=-1), order
