"""Options of a function together with shapes, dtypes, layouts and gradients; see options.FUNCTIONS."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.combinations import chosen
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.layouts import view
from runners.tensorflow.cases.options import FUNCTIONS, Function
from runners.tensorflow.cases.tensors import traced

Shapes = Sequence[Sequence[int]]
_HALVES = {"float16": 5e-3, "bfloat16": 3e-2}


def random_hosts(
    trial: Trial, about: Function, shapes: Shapes, dtype: str, seed: int = 80, special: str | None = None
) -> list[Any]:
    kind = "float32" if dtype == "bfloat16" else dtype
    found = []
    for number, shape in enumerate(shapes):
        low, high = about.ranges[min(number, len(about.ranges) - 1)]
        limits: dict[str, Any] = {"low": low, "high": high} if "float" in dtype else {}
        if "int" in dtype:
            limits = {"low": max(low, 0) if "uint" in dtype else low, "high": high + 1}
        found.append(trial.random(*shape, dtype=kind, seed=seed + number, special=special, **limits))
    return found


def expected_of(about: Function, hosts: Sequence[Any], options: Mapping[str, Any]) -> Any:
    wide = [host.astype("float64") if host.dtype.kind == "f" else host for host in hosts]
    with np.errstate(all="ignore"):
        return np.asarray(about.compute(*wide, **options))


def _arranged(leaf: Any, layout: str) -> Any:
    """The values of a leaf that is laid out as ``_leaves`` does."""
    if layout == "transposed":
        return tf.transpose(leaf)
    if layout == "strided" and leaf.shape.rank:
        return leaf[..., ::2]
    return leaf


def _leaves(hosts: Sequence[Any], layout: str) -> list[Any]:
    if layout == "transposed":
        return [host.T.copy() for host in hosts]
    if layout == "strided":
        return [np.repeat(host, 2, -1) if host.ndim else host for host in hosts]
    return list(hosts)


def _along(
    about: Function, hosts: Sequence[Any], weights: Any, direction: Sequence[Any], options: Mapping[str, Any]
) -> float:
    """How fast the weighted sum of the output changes along a direction of the inputs."""
    step = 1e-6
    ends = []
    for sign in (1, -1):
        moved = [np.asarray(host.astype("float64") + sign * step * each) for host, each in zip(hosts, direction)]
        ends.append((weights * np.asarray(about.compute(*moved, **options))).sum())
    return float(ends[0] - ends[1]) / (2 * step)


def check_slopes(
    trial: Trial,
    about: Function,
    hosts: Sequence[Any],
    slopes: Sequence[Any],
    weights: Any,
    options: Mapping[str, Any],
    dtype: str,
) -> None:
    """The gradient of each input, times a random direction, is how fast the output changes along it."""
    kind = about.dtype(**options) if about.dtype else dtype
    tolerance = max({**_HALVES, "float64": 1e-6}.get(each, 2e-4) for each in (kind, dtype))
    for number, (host, slope) in enumerate(zip(hosts, slopes)):
        direction = [np.zeros(each.shape) for each in hosts]
        direction[number] = trial.random(*host.shape, dtype="float64", seed=95)
        trial.equal([list(slope.shape), trial.dtype_name(slope)], [list(host.shape), dtype])
        found = trial.numpy(slope).astype("float64")
        scale = 1 + np.sqrt(((found * direction[number]) ** 2).sum())
        expected = _along(about, hosts, weights, direction, options)
        off = abs((found * direction[number]).sum() - expected) / (scale + abs(expected))
        trial.check(off < tolerance, f"the gradient of input {number} is off by {off:.3g}, allowed {tolerance}")


def close_output(
    trial: Trial, about: Function, output: Any, expected: Any, dtype: str, options: Mapping[str, Any]
) -> None:
    kind = about.dtype(**options) if about.dtype else dtype
    tolerance = {"float64": 1e-9 if about.rtol > 1e-5 else 1e-11, "float32": about.rtol, **_HALVES}.get(kind)
    if dtype in _HALVES and kind not in _HALVES:
        tolerance = None if tolerance is None else _HALVES[dtype]
    trial.close(output, expected, tolerance, tolerance, dtype=kind)


def call(
    trial: Trial,
    subject: str,
    shapes: Shapes,
    dtype: str = "float32",
    layout: str = "plain",
    gradient: bool = True,
    gradients_of: Sequence[str] = ("float32", "float64"),
    special: str | None = None,
    **options: Any,
) -> None:
    """The output and, of inputs of some dtypes, the gradients are right for these options, shapes, dtype and layout.

    ``layout``: tensors, ``transposed`` or ``strided`` ones, a ``variable``, or an ``array`` whose rows are apart. With
    ``special`` values there are no gradients."""
    about = FUNCTIONS[subject]
    hosts = random_hosts(trial, about, shapes, dtype, special=special)
    rounded = [np.asarray(host, trial.dtype(dtype).as_numpy_dtype) for host in hosts]
    if dtype == "bfloat16":
        hosts = [host.astype("float32") for host in rounded]
    expected = expected_of(about, hosts, options)
    leaves = [trial.tensor(leaf, dtype) for leaf in _leaves(hosts, layout)]
    if layout == "array":
        leaves = [view(host, "strided") if host.ndim else host for host in rounded]
    if layout == "variable":
        leaves = [tf.Variable(leaf) for leaf in leaves]
    kind = about.dtype(**options) if about.dtype else dtype
    if not gradient or special or layout == "array" or dtype not in gradients_of or "float" not in kind:

        def plain(function: Callable[..., Any]) -> Any:
            return about.call(function, *[_arranged(leaf, layout) for leaf in leaves], **options)

        close_output(trial, about, trial.call_inside(plain), expected, dtype, options)
        return
    weights = trial.random(*expected.shape, dtype="float64", seed=90)

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            inputs = [_arranged(leaf, layout) for leaf in leaves]
            tape.watch(inputs)
            output = about.call(function, *inputs, **options)
            total = tf.reduce_sum(tf.cast(weights, output.dtype) * output)
        return output, [tape.gradient(total, inputs, unconnected_gradients="zero") for _ in range(2)]

    output, (slopes, again) = trial.call_inside(body)
    close_output(trial, about, output, expected, dtype, options)
    check_slopes(trial, about, hosts, slopes, weights, options, dtype)
    trial.equal(again, trial.numpy(slopes))


def in_function(
    trial: Trial,
    subject: str,
    over: Mapping[str, Sequence[Any]],
    shapes: Shapes,
    dtype: str = "float32",
    gradient: bool = True,
    known: bool = False,
    without: Sequence[Mapping[str, Any]] = (),
) -> None:
    """One tf.function makes a call with each combination of options, of its arguments and of constants with other
    values; called again with other values it has their outputs and gradients. The shape is ``known``, or only when it
    runs."""
    about = FUNCTIONS[subject]
    calls = chosen(over, without)
    each = [random_hosts(trial, about, shapes, dtype, seed) for seed in (80, 180)]
    fixed = random_hosts(trial, about, shapes, dtype, 280)
    tensors = [[trial.tensor(host, dtype) for host in hosts] for hosts in each]
    weights = [
        trial.random(*expected_of(about, fixed, options).shape, dtype="float64", seed=90 + number)
        for number, options in enumerate(calls)
    ]
    specs = [tf.TensorSpec(shape if known else [None] * len(shape), trial.dtype(dtype)) for shape in shapes]

    def body(function: Callable[..., Any]) -> Any:
        def calls_of(*inputs: Any) -> Any:
            constants = [tf.constant(host, trial.dtype(dtype)) for host in fixed]
            outputs, slopes = [], []
            for options, weight in zip(calls, weights):
                with tf.GradientTape() as tape:
                    tape.watch(list(inputs))
                    output = about.call(function, *inputs, **options)
                    total = tf.reduce_sum(tf.cast(weight, output.dtype) * output) if gradient else None
                outputs.append((output, about.call(function, *constants, **options)))
                slopes.append(tape.gradient(total, list(inputs), unconnected_gradients="zero") if gradient else [])
            return outputs, slopes

        program = traced(calls_of, specs)
        return [program(*given) for given in tensors]

    for hosts, (outputs, slopes) in zip(each, trial.call_inside(body)):
        for number, options in enumerate(calls):
            output, constant = outputs[number]
            close_output(trial, about, output, expected_of(about, hosts, options), dtype, options)
            close_output(trial, about, constant, expected_of(about, fixed, options), dtype, options)
            if gradient:
                check_slopes(trial, about, hosts, slopes[number], weights[number], options, dtype)


def second_gradient(trial: Trial, subject: str, shapes: Shapes, first: int = 0, **options: Any) -> None:
    """The gradient of a gradient is how fast that gradient changes along a direction. The inputs before the ``first``
    one are held."""
    about = FUNCTIONS[subject]
    hosts = random_hosts(trial, about, shapes, "float64")
    weights = trial.random(*expected_of(about, hosts, options).shape, dtype="float64", seed=90)
    ways = [
        [trial.random(*host.shape, dtype="float64", seed=seed + number) for number, host in enumerate(hosts)]
        for seed in (91, 191)
    ]
    for way in ways:
        way[:first] = [0 * each for each in way[:first]]
    inputs = [trial.tensor(host) for host in hosts]

    def body(function: Callable[..., Any]) -> Any:
        moving = inputs[first:]
        with tf.GradientTape() as outer:
            outer.watch(moving)
            with tf.GradientTape() as inner:
                inner.watch(moving)
                # Squared, so that a linear function has a second gradient too.
                output = about.call(function, *inputs, **options)
                total = tf.reduce_sum(weights * output**2)
            slopes = inner.gradient(total, moving)
            speed = tf.add_n([tf.reduce_sum(a * b) for a, b in zip(slopes, ways[0][first:])])
        found = outer.gradient(speed, moving)
        return output, speed, tf.add_n([tf.reduce_sum(a * b) for a, b in zip(found, ways[1][first:])])

    def value(one: float, two: float) -> float:
        moved = [np.asarray(host + one * a + two * b) for host, a, b in zip(hosts, *ways)]
        return float((weights * np.asarray(about.compute(*moved, **options)) ** 2).sum())

    step = 1e-3
    speed = (value(step, 0) - value(-step, 0)) / (2 * step)
    bend = (value(step, step) - value(step, -step) - value(-step, step) + value(-step, -step)) / (4 * step**2)
    found = trial.call_inside(body)
    close_output(trial, about, found[0], expected_of(about, hosts, options), "float64", options)
    trial.close(found[1], speed, 1e-4, 1e-4, dtype="float64")
    trial.close(found[2], bend, 1e-3, 1e-3, dtype="float64")
