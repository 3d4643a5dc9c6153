"""Inputs that are views of other memory, and gradients that come from and go to views."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS, slopes

_AROUND = 7.0


def view(host: Any, layout: str) -> Any:
    """The values of an array in other memory: a view whose rows are not next to each other, with other numbers between
    and around. A broadcast one has its first row in all rows."""
    if layout == "broadcast":
        return np.broadcast_to(host[:1], host.shape) if host.ndim else host
    if layout == "transposed":
        return host.T.copy().T
    # Each second element of the first axis, the next axis backwards, and so on, two elements from the border.
    steps = [2 if place % 2 == 0 else -1 for place in range(host.ndim)]
    spread = np.full([size * abs(step) + 4 for size, step in zip(host.shape, steps)], _AROUND, host.dtype)
    inner = spread[tuple(slice(2, -2) for _ in steps)]
    found = inner[tuple(slice(None, None, step) for step in steps)]
    found[...] = host
    return found


def arrays(trial: Trial, subject: str, layout: str, dtype: str = "float32") -> None:
    """NumPy's arrays of any layout have their own values, and neither they nor the memory around them change."""
    about = SUBJECTS[subject]
    hosts = [view(host, layout) for host in about.hosts(trial, dtype)]
    memory = [host if host.base is None else host.base for host in hosts]
    before = [each.copy() for each in memory]
    output = trial.call_inside(about.call, *hosts)
    expected = np.asarray(about.compute(*[host.astype("float64") for host in hosts]))
    trial.close(output, expected, about.rtol, about.rtol, dtype=about.dtype or dtype)
    trial.equal(memory, before)


def gradients(trial: Trial, subject: str, how: str, dtype: str = "float64") -> None:
    """The gradient goes through views: to the elements that a view has, and to no others.

    ``transposed``: the inputs are transposed, and so is the gradient that comes in. ``strided``: the inputs are each
    second element, and the gradient that comes in is one number for all. ``traced``: the same in a tf.function."""
    about = SUBJECTS[subject]
    hosts = about.hosts(trial, dtype)
    wide = [host.astype("float64") for host in hosts]
    expected = np.asarray(about.compute(*wide))
    is_strided = how != "transposed"
    weights = np.full(expected.shape, 3.0) if is_strided else trial.random(*expected.shape, dtype="float64", seed=70)
    spread = [np.repeat(host, 2, -1) if is_strided and host.ndim else host.T.copy() for host in hosts]
    back = trial.tensor(weights.T.astype(about.dtype or dtype))

    def body(function: Callable[..., Any], *leaves: Any) -> Any:
        def slope(*leaves: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(list(leaves))
                views = [leaf[..., ::2] if is_strided and leaf.shape.rank else tf.transpose(leaf) for leaf in leaves]
                output = about.call(function, *views)
                total = 3.0 * tf.reduce_sum(output) if is_strided else tf.reduce_sum(tf.transpose(output) * back)
            return output, tape.gradient(total, list(leaves))

        return (tf.function(slope, autograph=False) if how == "traced" else slope)(*leaves)

    output, found = trial.call_inside(body, *map(trial.tensor, spread))
    trial.close(output, expected, about.rtol, about.rtol, dtype=about.dtype or dtype)
    for leaf, slope in zip(found, slopes(about, hosts, weights)):
        placed = slope.T
        if is_strided and slope.ndim:
            placed = np.zeros([*slope.shape[:-1], 2 * slope.shape[-1]])
            placed[..., ::2] = slope
        tolerance = 1e-6 if dtype == "float64" else 1e-4
        trial.close(leaf, placed, tolerance, tolerance, dtype=dtype)


def rows_of_many(
    trial: Trial,
    subject: str,
    shapes: Sequence[Sequence[int]],
    axes: Sequence[int | None],
    to: int | None,
    repeats: int = 9363,
    dtype: str = "float32",
) -> None:
    """More than 65,536 entries along an axis give what a few give, as often, and so do their gradients.

    ``axes`` has the axis of each input along which it is repeated, or none, ``to`` that of the output; without one the
    output is a sum, and larger by the count."""
    about = SUBJECTS[subject]
    hosts = about.hosts(trial, dtype, shapes)
    if to is None:
        # Sums of whole numbers are exact.
        hosts = [np.rint(2 * host) for host in hosts]
    once = np.asarray(about.compute(*[host.astype("float64") for host in hosts]))
    weights = trial.random(*once.shape, dtype="float64", seed=71)

    def many(values: Any, axis: int | None) -> Any:
        if axis is None:
            return values
        return np.tile(values, [repeats if place == axis % values.ndim else 1 for place in range(values.ndim)])

    back = trial.tensor(many(weights, to).astype(about.dtype or dtype))

    def body(function: Callable[..., Any], *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(list(inputs))
            output = about.call(function, *inputs)
            total = tf.reduce_sum(back * output)
        return output, tape.gradient(total, list(inputs))

    output, found = trial.call_inside(body, *[trial.tensor(many(host, axis)) for host, axis in zip(hosts, axes)])
    expected = many(once, to) * (repeats if to is None else 1)
    trial.close(output, expected, about.rtol, about.rtol, dtype=about.dtype or dtype)
    for leaf, slope, axis in zip(found, slopes(about, hosts, weights), axes):
        # The rounding of a sum scales with the number of its terms.
        summed = repeats if axis is None else 1
        trial.close(leaf, many(slope, axis) * summed, 1e-3, 1e-4 * summed, dtype=dtype)
