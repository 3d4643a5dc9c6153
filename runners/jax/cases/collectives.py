"""Collectives over an axis of jax.vmap, which works on one device, and over all available devices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.platforms import of_target


def gather_rows(
    trial: Trial, dtype: str, axis: int = 0, tiled: bool = False, special: str | None = None, shape: Any = (4, 3, 2)
) -> None:
    """Every row gets all rows: stacked along a new axis, or, if tiled, joined along an existing one."""
    moved = trial.tensor(trial.random(*shape, dtype=dtype, special=special), dtype)
    host = trial.numpy(moved)

    def body(all_gather: Callable[..., Any], x: Any) -> Any:
        return jax.vmap(lambda row: all_gather(row, "rows", axis=axis, tiled=tiled), axis_name="rows")(x)

    gathered = (np.concatenate if tiled else np.stack)(list(host), axis=axis)
    trial.exact(trial.call_inside(body, moved), np.stack([gathered] * len(host)), dtype)


def gather_refuses(trial: Trial, axis: int) -> None:
    """An axis that the gathered array lacks is an error."""
    x = trial.tensor(trial.random(4, 3))

    def body(all_gather: Callable[..., Any]) -> Any:
        return jax.vmap(lambda row: all_gather(row, "rows", axis=axis), axis_name="rows")(x)

    trial.raises_inside(["ValueError"], "out of bounds", body)


def gather_devices(trial: Trial) -> None:
    """Every device gets the rows of all devices, or, with groups, those of its group."""
    devices = of_target(trial.device)
    host = trial.random(len(devices), 16, 8)
    groups = _groups(len(devices))
    gathered, grouped = trial.call_inside(
        lambda all_gather, x: _gathered_over(all_gather, devices)(x), _spread(host, devices)
    )
    trial.exact(gathered, np.stack([host] * len(devices)), "float32")
    joined = {device: np.concatenate(host[list(group)], axis=1) for group in groups for device in group}
    trial.exact(grouped, np.stack([joined[device] for device in range(len(devices))]), "float32")


def gather_gradient(trial: Trial, axis: int, tiled: bool, shape: Sequence[int] = (4, 3, 5)) -> None:
    """The cotangent of a row is the sum of its cotangents from all rows; the output is the gathered rows."""
    host = trial.random(*shape)
    rows = (np.concatenate if tiled else np.stack)(list(host), axis=axis)
    weights = trial.random(len(host), *rows.shape, seed=1)

    def body(all_gather: Callable[..., Any], x: Any, weights: Any) -> Any:
        def loss(x: Any) -> Any:
            gathered = jax.vmap(lambda row: all_gather(row, "rows", axis=axis, tiled=tiled), axis_name="rows")(x)
            return jnp.sum(weights * gathered), gathered

        return jax.grad(loss, has_aux=True)(x)

    gradient, gathered = trial.call_inside(body, trial.tensor(host), trial.tensor(weights))
    trial.exact(gathered, np.stack([rows] * len(host)), "float32")
    total = widened(weights).sum(axis=0)
    expected = np.stack(np.split(total, len(host), axis)) if tiled else np.moveaxis(total, axis, 0)
    trial.close(gradient, expected, dtype="float32")


def gather_tree(trial: Trial) -> None:
    """Each array of a nested value is gathered separately; an axis can have size one or no elements."""
    one, none = trial.random(3, 1), np.zeros((3, 0), "float32")

    def body(all_gather: Callable[..., Any], tree: Any) -> Any:
        return jax.vmap(lambda row: all_gather(row, "rows"), axis_name="rows")(tree)

    output = trial.call_inside(body, {"one": trial.tensor(one), "none": [trial.tensor(none)]})
    trial.exact(output["one"], np.stack([one] * 3), "float32")
    trial.close(output["none"][0], np.zeros((3, 3, 0)), dtype="float32")


def pmax_rows(trial: Trial, dtype: str, shape: Any = (6, 8), special: str | None = None) -> None:
    """Every row gets the elementwise maximum of all rows."""
    moved = trial.tensor(trial.random(*shape, dtype=dtype, special=special), dtype)
    host = trial.numpy(moved)
    output = trial.call_inside(_pmax_over_rows, moved)
    trial.exact(output, np.broadcast_to(host.max(axis=0), host.shape), dtype)


def pmax_infinite(trial: Trial) -> None:
    """Plus infinity is the maximum, minus infinity is below everything, and a NaN anywhere gives NaN, in each array of
    a nested value."""
    host = np.array([[-np.inf, 1.0, -np.inf, np.nan, -5.0], [3.0, np.inf, -np.inf, 2.0, -3.0]], "float32")
    tree = {"floats": trial.tensor(host), "more": [trial.tensor(np.array([-7, -2], "int32"))]}
    output = trial.call_inside(_pmax_over_rows, tree)
    trial.close(output["floats"], [[3.0, np.inf, -np.inf, np.nan, -3.0]] * 2, dtype="float32")
    trial.close(output["more"][0], [-2, -2], dtype="int32")


def pmax_axes(trial: Trial) -> None:
    """Over two nested axes all rows get the same; over one axis, the rows that share the other index do."""
    host = trial.random(3, 4, 5)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def each(row: Any) -> Any:
            return pmax(row, ("outer", "inner")), pmax(row, "inner")

        return jax.vmap(jax.vmap(each, axis_name="inner"), axis_name="outer")(x)

    both, inner = trial.call_inside(body, trial.tensor(host))
    trial.exact(both, np.broadcast_to(host.max(axis=(0, 1)), host.shape), "float32")
    trial.exact(inner, np.broadcast_to(host.max(axis=1, keepdims=True), host.shape), "float32")


def pmax_devices(trial: Trial) -> None:
    """Over the devices and the rows on each of them, all get the maximum of all; with groups of devices, that of their
    group."""
    devices = of_target(trial.device)
    host = trial.random(len(devices), 4, 8)
    output, of_group = trial.call_inside(lambda pmax, x: _pmax_over(pmax, devices)(x), _spread(host, devices))
    trial.exact(output, np.broadcast_to(host.max(axis=(0, 1)), host.shape), "float32")
    for group in _groups(len(devices)):
        for place in group:
            trial.exact(of_group[place], host[group].max(axis=0), "float32")


def pmax_grouped(trial: Trial) -> None:
    """Groups of indices are kept in the traced program, in their order, and without groups it has none; an axis that is
    traced needs no devices. Groups must have every index exactly once."""
    x = trial.tensor(trial.random(3))

    def body(pmax: Callable[..., Any], groups: Any) -> Any:
        return jax.make_jaxpr(lambda x: pmax(x, "rows", axis_index_groups=groups), axis_env=[("rows", 4)])(x)

    for groups in ([[0, 1], [2, 3]], [[3, 0], [1, 2]], [[2], [1], [0], [3]], None):
        (equation,) = trial.call_inside(body, groups).eqns
        found = equation.params["axis_index_groups"]
        trial.equal(found and [list(group) for group in found], groups)
    for groups in ([[0, 1], [1, 2]], [[0, 1], [3]], [[0, 0], [1, 1]], [[1, 2], [3, 4]]):
        trial.raises_inside(["ValueError"], "exactly once", body, groups)


def pmax_softmax(trial: Trial) -> None:
    """A softmax over an axis, with the maximum subtracted first, is accurate for large numbers."""
    host = trial.random(8, 16, low=900.0, high=1000.0)

    def body(pmax: Callable[..., Any], x: Any) -> Any:
        def softmax(row: Any) -> Any:
            largest = pmax(row, "rows")
            weight = jnp.exp(row - largest)
            return largest, weight / jax.lax.psum(weight, "rows")

        return jax.vmap(softmax, axis_name="rows")(x)

    exact = widened(host)
    weights = np.exp(exact - exact.max(axis=0))
    largest, output = trial.call_inside(body, trial.tensor(host))
    trial.exact(largest, np.broadcast_to(host.max(axis=0), host.shape), "float32")
    # The differences are exact, so only exp, sum and quotient are rounded.
    trial.close(output, weights / weights.sum(axis=0), rtol=5e-6, atol=1e-30, dtype="float32")


def _pmax_over_rows(pmax: Callable[..., Any], x: Any) -> Any:
    return jax.vmap(lambda row: pmax(row, "rows"), axis_name="rows")(x)


def _spread(host: Any, devices: Sequence[Any]) -> Any:
    """Give each device one block: only some versions of pmap accept an array on a single device."""
    return jax.block_until_ready(jax.pmap(lambda block: block, axis_name="devices", devices=devices)(host))


def _groups(count: int) -> list[list[int]]:
    """Two halves of the devices, or one group of an odd number of them."""
    half = count // 2
    return [list(range(half)), list(range(half, count))] if count % 2 == 0 else [list(range(count))]


@lru_cache(maxsize=1)
def _gathered_over(all_gather: Callable[..., Any], devices: Sequence[Any]) -> Callable[..., Any]:
    """Compile once for each function, so that a repeated call does not compile again."""
    groups = _groups(len(devices))

    def both(block: Any) -> Any:
        grouped = all_gather(block, "devices", axis_index_groups=groups, axis=1, tiled=True)
        return all_gather(block, "devices"), grouped

    return jax.pmap(both, axis_name="devices", devices=devices)


@lru_cache(maxsize=1)
def _pmax_over(pmax: Callable[..., Any], devices: Sequence[Any]) -> Callable[..., Any]:
    over_rows = jax.vmap(lambda row: pmax(row, ("devices", "rows")), axis_name="rows")
    groups = _groups(len(devices))

    def both(block: Any) -> Any:
        return over_rows(block), pmax(block, "devices", axis_index_groups=groups)

    return jax.pmap(both, axis_name="devices", devices=devices)
