"""Mapped axes: other names, sizes and options one after the other, and what collectives refuse."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.double import x64


def gather_in_turn(trial: Trial) -> None:
    """Axes of one name with other sizes, other names and other options give their own output, in any order."""
    host = trial.random(3, 2, 4)
    x = trial.tensor(host)

    def body(all_gather: Callable[..., Any], x: Any, mapped: int, name: str, axis: int, tiled: bool) -> Any:
        return jax.vmap(lambda row: all_gather(row, name, axis=axis, tiled=tiled), in_axes=mapped, axis_name=name)(x)

    for mapped, name, axis, tiled in (
        (0, "rows", 0, False),
        (1, "rows", 0, False),
        (0, "rows", 1, False),
        (0, "rows", 0, True),
        (2, "rows", 1, True),
        (0, "other", 0, False),
        (0, "rows", 0, False),
    ):
        parts = list(np.moveaxis(host, mapped, 0))
        gathered = (np.concatenate if tiled else np.stack)(parts, axis=axis)
        output = trial.call_inside(body, x, mapped, name, axis, tiled)
        trial.exact(output, np.stack([gathered] * len(parts)), "float32")


def gather_nested(trial: Trial) -> None:
    """Of two nested axes each gathers its own rows, and both together all rows in the order of the names; what is
    gathered can be gathered and summed again."""
    host = trial.random(3, 2, 4)

    def body(all_gather: Callable[..., Any], x: Any) -> Any:
        def each(row: Any) -> Any:
            inner, outer = all_gather(row, "inner"), all_gather(row, "outer", axis=1)
            return inner, outer, all_gather(inner, "outer", tiled=True), lax.psum(inner, "outer")

        return jax.vmap(jax.vmap(each, axis_name="inner"), axis_name="outer")(x)

    inner, outer, both, total = trial.call_inside(body, trial.tensor(host))
    trial.exact(inner, np.broadcast_to(host[:, None], (3, 2, 2, 4)), "float32")
    trial.exact(outer, np.broadcast_to(np.moveaxis(host, 0, 2)[None], (3, 2, 4, 3)), "float32")
    trial.exact(both, np.broadcast_to(host.reshape(6, 4), (3, 2, 6, 4)), "float32")
    trial.close(total, np.broadcast_to(widened(host).sum(axis=0), (3, 2, 2, 4)), dtype="float32")


def gather_within(trial: Trial) -> None:
    """In the body of a scan, and of a compiled and mapped function, each row gets the rows of the current step; its
    derivative is summed over the steps."""
    host = trial.random(3, 5, 2)
    trial.has_random_inputs = False  # other values would compile the same programs again

    def body(all_gather: Callable[..., Any], x: Any) -> Any:
        def step(total: Any, part: Any) -> Any:
            return total + part, all_gather(total, "rows")

        rows = jax.vmap(lambda row: lax.scan(step, 0 * row[0], row)[1], axis_name="rows")
        return jax.jit(rows)(x), jax.jit(jax.grad(lambda x: rows(x).sum()))(x)

    output, gradient = trial.call_inside(body, trial.tensor(host))
    before = np.cumsum(widened(host), axis=1) - host
    expected = np.stack([np.moveaxis(before, 1, 0)] * 3)
    trial.close(output, expected, rtol=1e-6, atol=2e-6, dtype="float32")
    # Each part is in the total of all later steps, of three rows; the first one's multiple of zero adds nothing.
    trial.close(gradient, np.broadcast_to(3.0 * np.arange(4, -1, -1)[None, :, None], host.shape), dtype="float32")


def gather_refuses(trial: Trial) -> None:
    """An axis that is missing, in the array or around the call, an axis that is no number, groups within jax.vmap and
    groups that leave an index out are errors. After an error the name is unknown and the same call works."""
    host = np.array([[0.5, -1, 2], [3, 0.25, -2]], "float32")
    x = trial.tensor(host)

    def body(all_gather: Callable[..., Any], name: Any = "rows", operand: Any = None, **options: Any) -> Any:
        return jax.vmap(lambda row: all_gather(operand or row, name, **options), axis_name="rows")(x)

    for name in ("columns", ("rows", "columns"), None):
        trial.raises_inside(["NameError"], "unbound axis", body, name)
    for options in ({"axis": -3}, {"axis": 3}, {"axis": 1, "tiled": True}, {"axis": -2, "tiled": True}):
        trial.raises_inside(["ValueError"], "out of bounds", body, **options)
    for axis in (None, 0.5):
        trial.raises_inside(["TypeError"], "integer", body, axis=axis)
    trial.raises_inside(["TypeError"], "type", body, operand="text")
    trial.raises_inside(["NotImplementedError"], "axis_index_groups", body, axis_index_groups=[[0], [1]])
    trial.raises_inside(["NameError"], "unbound axis", lambda all_gather: all_gather(x, "rows"))

    def traced(all_gather: Callable[..., Any], groups: Any) -> Any:
        return jax.make_jaxpr(lambda x: all_gather(x, "rows", axis_index_groups=groups), axis_env=[("rows", 4)])(x)

    for groups in ([[0, 1], [1, 2]], [[0, 1], [3]], [[0, 0], [1, 1]], [[1, 2], [3, 4]]):
        trial.raises_inside(["ValueError"], "exactly once", traced, groups)
    trial.exact(trial.call_inside(body), np.stack([host] * 2), "float32")


def pmax_in_turn(trial: Trial) -> None:
    """Axes of one name with other sizes, other names, dtypes and orders of two names give their own output."""
    host, count = trial.random(3, 2, 4), trial.random(3, 2, 4, dtype="int32", seed=1)

    def body(pmax: Callable[..., Any], x: Any, mapped: int, name: str) -> Any:
        return jax.vmap(lambda row: pmax(row, name), in_axes=mapped, out_axes=mapped, axis_name=name)(x)

    for array, mapped, name in (
        (host, 0, "rows"),
        (host, 1, "rows"),
        (count, 0, "rows"),
        (host, 2, "other"),
        (-host, 0, "rows"),
        (host, 0, "rows"),
    ):
        expected = np.broadcast_to(array.max(axis=mapped, keepdims=True), array.shape)
        output = trial.call_inside(body, trial.tensor(array), mapped, name)
        trial.exact(output, expected, str(array.dtype))


def pmax_nested(trial: Trial) -> None:
    """Of two nested axes each has its own maximum, also if the inner one hides an outer one of the same name; a value
    that no axis maps is its own maximum."""
    host = trial.random(3, 2, 4)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def each(row: Any) -> Any:
            return pmax(row, "outer"), pmax(row, "inner"), pmax(pmax(row, "inner"), "outer"), pmax(2.5, "outer")

        inside = jax.vmap(lambda row: pmax(row, "same"), axis_name="same")
        hidden = jax.vmap(lambda rows: (inside(rows), pmax(rows, "same")), axis_name="same")
        return jax.vmap(jax.vmap(each, axis_name="inner"), axis_name="outer")(x), hidden(x)

    (outer, inner, both, number), (near, far) = trial.call_inside(body, trial.tensor(host))
    trial.exact(outer, np.broadcast_to(host.max(axis=0), host.shape), "float32")
    trial.exact(inner, np.broadcast_to(host.max(axis=1, keepdims=True), host.shape), "float32")
    trial.exact(both, np.broadcast_to(host.max(axis=(0, 1)), host.shape), "float32")
    trial.exact(number, np.full((3, 2), 2.5), "float32")
    trial.exact(near, np.broadcast_to(host.max(axis=1, keepdims=True), host.shape), "float32")
    trial.exact(far, np.broadcast_to(host.max(axis=0), host.shape), "float32")


def pmax_within(trial: Trial) -> None:
    """In the body of a scan, and of a compiled and mapped function, all rows have the maximum of the current step."""
    host = trial.random(3, 5, 2)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def step(total: Any, part: Any) -> Any:
            largest = pmax(total + part, "rows")
            return total + part, largest

        return jax.jit(jax.vmap(lambda row: lax.scan(step, 0 * row[0], row)[1], axis_name="rows"))(x)

    output = trial.call_inside(body, trial.tensor(host))
    largest = np.cumsum(widened(host), axis=1).max(axis=0)
    trial.close(output, np.stack([largest] * 3), rtol=1e-6, atol=2e-6, dtype="float32")


def pmax_refuses(trial: Trial) -> None:
    """An axis that is missing or named twice, groups within jax.vmap or with an axis by number, text and derivatives
    are errors. After an error the name is unknown and the same call works."""
    host = trial.random(2, 3)
    x = trial.tensor(host)

    def body(pmax: Callable[..., Any], name: Any = "rows", operand: Any = None, **options: Any) -> Any:
        return jax.vmap(lambda row: pmax(operand or row, name, **options), axis_name="rows")(x)

    for name in ("columns", ("rows", "columns"), None):
        trial.raises_inside(["NameError"], "unbound axis", body, name)
    trial.raises_inside(["ValueError"], "duplicate", body, ("rows", "rows"))
    trial.raises_inside(["TypeError"], "str", body, operand="text")
    trial.raises_inside(["NotImplementedError"], "axis_index_groups", body, axis_index_groups=[[0], [1]])
    trial.raises_inside(["ValueError"], "axis_index_groups", body, (0, "rows"), axis_index_groups=[[0, 1]])
    trial.raises_inside(["NameError"], "unbound axis", lambda pmax: pmax(x, "rows"))

    def derived(pmax: Callable[..., Any]) -> Any:
        return jax.vmap(jax.grad(lambda row: pmax(row, "rows").sum()), axis_name="rows")(x)

    trial.raises_inside(["NotImplementedError"], "pmax", derived)
    trial.exact(trial.call_inside(body), np.broadcast_to(host.max(axis=0), host.shape), "float32")


def keep_wide(trial: Trial) -> None:
    """With 64-bit types enabled, integers that differ in their last bits and fractions keep all of them; the axis can
    be given by its keyword."""
    hosts = [
        np.array([[2**53 + 1, -(2**53) - 1], [2**53, -(2**53)], [-(2**63), 7]]),
        np.array([[0.1, 0.1 + 1e-16], [0.1 + 1e-16, 0.1]]),
    ]

    def body(function: Callable[..., Any], x: Any) -> Any:
        with x64():
            return jax.vmap(lambda row: function(row, axis_name="rows"), axis_name="rows")(x)

    for host in hosts:
        with x64():
            x = trial.tensor(host)
        output = np.asarray(trial.call_inside(body, x))
        whole = np.broadcast_to(host.max(axis=0), host.shape)
        expected = whole if output.ndim == host.ndim else np.stack([host] * len(host))
        trial.equal((output.dtype, output.tolist()), (host.dtype, expected.tolist()))


def one_hot_refuses(trial: Trial) -> None:
    """Classes along a mapped axis must be as many as the axis has rows; a right number is accepted afterwards."""
    labels, rows = trial.tensor(np.array([1, 0], "int32")), trial.tensor(np.zeros(3, "float32"))

    def body(one_hot: Callable[..., Any], classes: int) -> Any:
        return jax.vmap(lambda _: one_hot(labels, classes, axis="classes"), axis_name="classes")(rows)

    for classes in (2, 4):
        trial.raises_inside(["ValueError"], "size of axis", body, classes)
    trial.exact(trial.call_inside(body, 3), [[0, 1], [1, 0], [0, 0]], "float32")
