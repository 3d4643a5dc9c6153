"""tf.signal.idct, tf.experimental.numpy.clip, tf.math.reduce_mean and tf.math.igammac: gradients and unknown shapes."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import traced, weighted_gradients

Sizes = Sequence[int]


# tf.signal.idct


def cosines(size: int, kind: int, norm: str | None) -> Any:
    """Return the matrix of the inverse cosine transform of a type. Without norm a type's inverse is the type (3 for 2,
    2 for 3, otherwise itself) that inverts it up to a factor."""
    n = np.arange(size, dtype="float64")
    if kind == 1:
        matrix = 2 * np.cos(np.pi * np.outer(n, n) / (size - 1))
        matrix[:, [0, -1]] /= 2
        return matrix
    if kind == 2:
        matrix = 2 * np.cos(np.pi * np.outer(2 * n + 1, n) / (2 * size))
        matrix[:, 0] /= 2
    elif kind == 3:
        matrix = 2 * np.cos(np.pi * np.outer(n, 2 * n + 1) / (2 * size))
    else:
        matrix = 2 * np.cos(np.pi * np.outer(2 * n + 1, 2 * n + 1) / (4 * size))
    if norm == "ortho":
        matrix /= np.sqrt(2 * size)
        if kind == 2:
            matrix[:, 0] *= np.sqrt(2)
        elif kind == 3:
            matrix[0] /= np.sqrt(2)
    return matrix


def inverse_cosine(trial: Trial, shape: Sizes, kind: int = 2, norm: str | None = None, dtype: str = "float32") -> None:
    """The output is the sum of cosines that defines the transform, along the last axis."""
    host = trial.random(*shape, dtype=dtype, seed=1)
    output = trial.call(trial.tensor(host), type=kind, norm=norm)
    expected = host.astype("float64") @ cosines(shape[-1], kind, norm).T
    # The error scales with the terms of the sum, and the factors of each term are rounded to the dtype too.
    scale = float(np.sqrt(shape[-1]) * np.max(np.abs(expected), initial=1.0))
    trial.close(output, expected, rtol=0.0, atol={"float32": 1e-6, "float64": 5e-15}[dtype] * scale, dtype=dtype)


def undoes_dct(trial: Trial, dtype: str, kind: int) -> None:
    """With orthonormal scaling the inverse returns the input of tf.signal.dct."""
    host = trial.random(3, 50, dtype=dtype, seed=2)
    # It runs on any device that has a kernel for it; it is not under test.
    with tf.device(None):
        given = trial.numpy(tf.signal.dct(tf.constant(host), type=kind, norm="ortho"))
    output = trial.call(trial.tensor(given), type=kind, norm="ortho")
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype]
    trial.close(output, host, rtol=0.0, atol=tolerance, dtype=dtype)


def inverse_cosine_gradient(trial: Trial, kind: int, norm: str | None = None) -> None:
    """The transform is linear: its gradient is the transposed matrix."""
    host, host_weights = trial.random(2, 12, seed=3), trial.random(2, 12, seed=4)
    weights = trial.tensor(host_weights)

    def body(idct: Callable[..., Any], values: Any) -> Any:
        return weighted_gradients(lambda x: idct(x, type=kind, norm=norm), [values], weights)

    output, (slope,) = trial.call_inside(body, trial.tensor(host))
    matrix = cosines(12, kind, norm)
    # Sums of 12 products, each below 10, in float32.
    trial.close(output, host.astype("float64") @ matrix.T, rtol=0.0, atol=2e-5, dtype="float32")
    trial.close(slope, host_weights.astype("float64") @ matrix, rtol=0.0, atol=2e-5, dtype="float32")


def inverse_cosine_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for rows of unknown length, transforms rows of several lengths."""
    hosts = [trial.random(2, 9, seed=5), trial.random(1, 64, seed=6)]
    tensors = [trial.tensor(host) for host in hosts]

    def body(idct: Callable[..., Any]) -> Any:
        apply = traced(lambda x: idct(x, norm="ortho"), [tf.TensorSpec([None, None], tf.float32)])
        return [apply(tensor) for tensor in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        expected = host.astype("float64") @ cosines(host.shape[-1], 2, "ortho").T
        # An orthonormal transform of 64 numbers around 1.
        trial.close(output, expected, rtol=0.0, atol=1e-5, dtype="float32")


# tf.experimental.numpy.clip


def clip_gradients(trial: Trial, dtype: str) -> None:
    """The gradient goes to the values between the bounds, and to a bound where it clips."""
    host = np.asarray([-3.0, -0.5, 0.25, 0.75, 2.0, 9.0], dtype)
    host_weights = trial.random(6, dtype=dtype, seed=7)
    weights = trial.tensor(host_weights)
    inputs = [trial.tensor(host), trial.tensor(np.asarray(-1.0, dtype)), trial.tensor(np.asarray(1.0, dtype))]

    def body(clip: Callable[..., Any]) -> Any:
        return weighted_gradients(lambda x, low, high: clip(x, low, high), inputs, weights)

    output, (to_values, to_low, to_high) = trial.call_inside(body)
    trial.close(output, np.clip(host, -1.0, 1.0), dtype=dtype)
    trial.close(to_values, np.where(np.abs(host) < 1, host_weights, 0), dtype=dtype)
    trial.close(to_low, host_weights[0], dtype=dtype)
    trial.close(to_high, host_weights[4:].astype("float64").sum(), dtype=dtype)


def clip_gradients_broadcast(trial: Trial, dtype: str) -> None:
    """A bound that is broadcast gets the sum of the gradients of all values that it clips."""
    host = trial.random(3, 5, dtype=dtype, seed=13, low=-3.0, high=3.0)
    host_low = trial.random(3, 1, dtype=dtype, seed=14, low=-1.5, high=-0.5)
    host_high = trial.random(5, dtype=dtype, seed=15, low=0.5, high=1.5)
    host_weights = trial.random(3, 5, dtype=dtype, seed=16)
    weights = trial.tensor(host_weights)

    def body(clip: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(lambda x, low, high: clip(a=x, a_max=high, a_min=low), inputs, weights)

    output, (to_values, to_low, to_high) = trial.call_inside(body, *map(trial.tensor, (host, host_low, host_high)))
    trial.close(output, np.clip(host, host_low, host_high), dtype=dtype)
    wide = host_weights.astype("float64")
    trial.close(to_values, np.where((host > host_low) & (host < host_high), wide, 0), dtype=dtype)
    trial.close(to_low, np.where(host < host_low, wide, 0).sum(axis=1, keepdims=True), dtype=dtype)
    trial.close(to_high, np.where(host > host_high, wide, 0).sum(axis=0), dtype=dtype)


# tf.math.reduce_mean


def mean_gradient(trial: Trial, dtype: str, axis: int | Sizes | None = 1, keepdims: bool = False) -> None:
    """Each element gets its share of the incoming gradient; for complex numbers of its conjugate."""
    host = trial.random(3, 4, 5, dtype=dtype, seed=8)
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    expected = np.asarray(widened(host).mean(axis=axes, keepdims=keepdims))
    host_weights = trial.random(*expected.shape, dtype=dtype, seed=9)
    weights = trial.tensor(host_weights)

    def body(reduce_mean: Callable[..., Any], values: Any) -> Any:
        return weighted_gradients(lambda x: reduce_mean(x, axis=axis, keepdims=keepdims), [values], weights)

    output, (slope,) = trial.call_inside(body, trial.tensor(host))
    trial.close(output, expected, dtype=dtype)
    share = widened(host_weights).conj().reshape(host.mean(axis=axes, keepdims=True).shape)
    trial.close(slope, np.broadcast_to(share * expected.size / host.size, host.shape), dtype=dtype)


def mean_over_computed_axis(trial: Trial) -> None:
    """The axis can be a tensor that is known only when the function runs."""
    host = trial.random(4, 6, seed=10)
    values = trial.tensor(host)
    axes = [trial.tensor(np.asarray(axis, "int32")) for axis in (0, 1, -1)]

    def body(reduce_mean: Callable[..., Any]) -> Any:
        specs = [tf.TensorSpec(None, tf.float32), tf.TensorSpec([], tf.int32)]
        apply = traced(lambda x, axis: reduce_mean(x, axis), specs)
        return [apply(values, axis) for axis in axes]

    for output, axis in zip(trial.call_inside(body), (0, 1, -1)):
        trial.close(output, host.astype("float64").mean(axis=axis), dtype="float32")


# tf.math.igammac


def igammac_gradients(trial: Trial, dtype: str, broadcast: bool = False) -> None:
    """The gradient of x is minus the density of the gamma distribution; that of a matches differences of SciPy's
    function in float64. An argument that was broadcast gets the sum."""
    host_a = np.asarray([0.5, 1.0, 2.5, 4.0, 9.0], dtype)
    host_x = np.asarray([0.25, 2.0, 2.0, 6.0, 7.5], dtype)
    host_weights = np.asarray([1.0, -2.0, 3.0, 0.5, 4.0], dtype)
    if broadcast:
        host_a, host_weights = host_a[1:4, None], np.outer([1.0, -0.5, 0.25], host_weights).astype(dtype)
    weights = trial.tensor(host_weights)

    def body(igammac: Callable[..., Any], *inputs: Any) -> Any:
        return weighted_gradients(igammac, inputs, weights)

    output, (to_a, to_x) = trial.call_inside(body, trial.tensor(host_a), trial.tensor(host_x))
    a, x, w = (part.astype("float64") for part in (host_a, host_x, host_weights))
    allowed = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {}
    trial.close(output, special.gammaincc(a, x), dtype=dtype, **allowed)
    density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    trial.close(to_x, -(w * density).sum(0) if broadcast else -w * density, dtype=dtype, **allowed)
    step = 1e-5
    slope = (special.gammaincc(a + step, x) - special.gammaincc(a - step, x)) / (2 * step)
    # The differences are accurate to about 1e-9, the series in float32 to some units in the last place.
    rtol, atol = {"float32": (2e-5, 1e-5), "float64": (1e-9, 1e-9)}[dtype]
    trial.close(to_a, (w * slope).sum(1, keepdims=True) if broadcast else w * slope, rtol, atol, dtype=dtype)


def igammac_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for arguments of unknown shapes, broadcasts them."""
    pairs = [((3, 1), (4,)), ((2,), (2,)), ((), (5, 2))]
    hosts = [
        (trial.random(*one, seed=11, low=0.5, high=8.0), trial.random(*two, seed=12, low=0.1, high=10.0))
        for one, two in pairs
    ]
    tensors = [tuple(map(trial.tensor, pair)) for pair in hosts]

    def body(igammac: Callable[..., Any]) -> Any:
        apply = traced(lambda a, x: igammac(a, x), [tf.TensorSpec(None, tf.float32)] * 2)
        return [apply(*pair) for pair in tensors]

    for output, (a, x) in zip(trial.call_inside(body), hosts):
        expected = special.gammaincc(a.astype("float64"), x.astype("float64"))
        trial.close(output, expected, rtol=1e-5, atol=1e-6, dtype="float32")
