"""Selecting and marking elements: jax.lax.top_k, jax.nn.one_hot and jax.lax.slice_in_dim."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.lax import map_and_compile
from runners.jax.cases.wide_types import call_with_x64


def one_hot(
    trial: Trial, shape: list[int], classes: int, indices: str = "int32", dtype: str = "float32", axis: int = -1
) -> None:
    """The output is one where the label is the class, and zero elsewhere; labels that are not a class give zeros."""
    labels = trial.random(*shape, dtype=indices, low=0 if indices.startswith("u") else -1, high=classes + 2)
    output = trial.call(trial.tensor(labels), classes, dtype=trial.dtype(dtype), axis=axis)
    trial.exact(output, _one_hot(labels, classes, axis), dtype)


def one_hot_compiled(trial: Trial) -> None:
    """Compiled with a fixed number of classes it gives the same output."""
    labels = trial.random(32, 8, dtype="int32", low=-1, high=9)
    output = trial.call_inside(lambda one_hot, labels: _compiled(one_hot)(labels, 7), trial.tensor(labels))
    trial.exact(output, _one_hot(labels, 7, -1), "float32")


def one_hot_of_bytes(trial: Trial, indices: str) -> None:
    """Labels of eight bits can have more classes than they have values: each still has one place."""
    labels = trial.random(20, dtype=indices, low=0, high=100)
    output = trial.call(trial.tensor(labels), 300)
    trial.exact(output, _one_hot(labels.astype("int32"), 300, -1), "float32")


def one_hot_named(trial: Trial) -> None:
    """The classes can be a mapped axis: each row of it tells which labels are its class, in the wanted dtype."""
    labels = trial.random(3, 5, dtype="int32", low=-1, high=6)

    def body(one_hot: Callable[..., Any], rows: Any, labels: Any) -> Any:
        def of_row(_: Any, labels: Any) -> Any:
            return one_hot(labels, 4, axis="classes", dtype=trial.dtype("int8"))

        return jax.vmap(of_row, in_axes=(0, None), axis_name="classes")(rows, labels)

    output = trial.call_inside(body, trial.tensor(np.zeros(4, "float32")), trial.tensor(labels))
    trial.exact(output, _one_hot(labels, 4, 0), "int8")


def top_k(trial: Trial, shape: list[int], k: int, dtype: str = "float32") -> None:
    """The output is the k largest of the last axis in descending order, with their places; of equal ones the first is
    first. Integers include the ends of their range."""
    host = trial.random(*shape, dtype=dtype)
    if host.dtype.kind in "iu":
        host[..., ::5] = np.iinfo(dtype).max
        host[..., 2:99] -= host.dtype.type(4)
    operand = trial.tensor(host, dtype)
    values, places = trial.call(operand, k)
    expected, order = _largest(trial.numpy(operand), k)
    trial.exact(values, expected, dtype)
    trial.equal(trial.dtype_name(places), "int32")
    trial.equal(places, order)


def top_k_ends(trial: Trial, count: int, dtype: str) -> None:
    """The largest of many elements are found wherever they are: the last ones, the first ones or between."""
    host = np.asarray(trial.random(4, count, dtype=dtype, low=-90, high=-9))
    for row, places in zip(host, ([-1, -2, -3], [0, 1, 2], [-1, 0, count // 2], [-2, count * 2 // 3, count // 3])):
        row[places] = [70, 60, 50]
    moved = trial.tensor(host, dtype)
    for rows, given in ((trial.numpy(moved), moved), (trial.numpy(moved)[0], moved[0])):
        values, places = trial.call(given, 3)
        expected, order = _largest(rows, 3)
        trial.exact(values, expected, dtype)
        trial.equal(places, order)


def top_k_double(trial: Trial) -> None:
    """With 64-bit types enabled, numbers that are the same in float32 are ordered."""
    host = 1 + 1e-9 * trial.random(5, 33, dtype="float64")
    values, places = call_with_x64(trial, host, args=(9,))
    largest, order = _largest(host, 9)
    trial.exact(values, largest, "float64")
    trial.equal(places, order)


def top_k_compiled(trial: Trial) -> None:
    """Compiled and mapped over rows it gives the same output."""
    host = trial.random(16, 64)
    values, places = trial.call_inside(lambda top_k, rows: map_and_compile(top_k, (5,))(rows), trial.tensor(host))
    expected, order = _largest(host, 5)
    trial.exact(values, expected, "float32")
    trial.equal(places, order)


def top_k_gradient(trial: Trial) -> None:
    """Only the largest elements have a gradient; the output is their values."""
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
    trial.exact(values, largest, "float32")
    trial.equal(places, order)
    trial.close(gradient, expected, dtype="float32")


@lru_cache(maxsize=1)
def _compiled(one_hot: Callable[..., Any]) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""
    return jax.jit(one_hot, static_argnums=1)


def _one_hot(labels: Any, classes: int, axis: int) -> Any:
    return np.moveaxis(labels[..., None] == np.arange(classes), -1, axis).astype("float64")


def _largest(operand: Any, k: int) -> tuple[Any, Any]:
    comparable = operand.astype("float64" if operand.dtype.kind == "f" else "int64")
    order = np.argsort(-comparable, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, order, axis=-1), order


# jax.lax.slice_in_dim


def sliced(
    trial: Trial,
    shape: Sequence[int],
    start: int | None,
    limit: int | None,
    stride: int = 1,
    axis: int = 0,
    dtype: str = "float32",
) -> None:
    """It matches a Python slice of that axis: None is the end, negative numbers count from the end."""
    moved = trial.tensor(trial.random(*shape, dtype=dtype), dtype)
    expected = trial.numpy(moved)[_slice(axis, len(shape), start, limit, stride)]
    trial.exact(trial.call(moved, start, limit, stride, axis), expected, dtype)


def slice_gradient(trial: Trial) -> None:
    """The cotangent of a slice is at the slice's place, with zeros around and between."""
    host, weights = trial.random(5, 20), trial.random(5, 6, seed=1)

    def body(slice_in_dim: Callable[..., Any], x: Any, weights: Any) -> Any:
        def weighted(x: Any) -> Any:
            part = slice_in_dim(x, 2, -1, 3, axis=-1)
            return jnp.sum(weights * part), part

        return jax.grad(weighted, has_aux=True)(x)

    gradient, part = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    expected = np.zeros_like(host)
    expected[:, 2:-1:3] = weights
    trial.exact(part, host[:, 2:-1:3], "float32")
    trial.close(gradient, expected, dtype="float32")


def slice_double(trial: Trial, dtype: str) -> None:
    """With 64-bit types enabled, the elements of a slice keep all their bits."""
    host = trial.random(6, 9, dtype=dtype)
    host[3, 5] = 2**52 + 1
    output = call_with_x64(trial, host, args=(1, 8, 2), axis=1)
    trial.exact(output, host[:, 1:8:2], dtype)


def slice_compiled(trial: Trial) -> None:
    """Mapped over the first axis and compiled, the axis refers to the rows."""
    host = trial.random(6, 8, 10)

    def body(slice_in_dim: Callable[..., Any], x: Any) -> Any:
        return map_and_compile(slice_in_dim, (3, 9, 2, 1))(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.exact(output, host[:, :, 3:9:2], "float32")


def _slice(axis: int, rank: int, start: int | None, limit: int | None, stride: int) -> Any:
    places = [slice(None)] * rank
    places[axis] = slice(start, limit, stride)
    return tuple(places)


def small_indices(trial: Trial) -> None:
    """jax.nn.one_hot: indices of 8 bits from 128 on count as they are, and the others of their number are not less; one
    that is no class, by its sign or its size, gives zeros."""
    for dtype, classes, values in (
        ("uint8", 250, [200, 127, 128, 255, 0, 249, 250]),
        ("int8", 120, [-1, 127, 119, 120, 0, -128]),
        ("uint8", 100, [200, 99, 100, 156]),
    ):
        output = trial.call(trial.tensor(np.array(values), dtype), classes)
        classified = np.array(values)[:, None] == np.arange(classes)
        trial.exact(output, classified.astype("float32"), "float32")
