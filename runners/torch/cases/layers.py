"""torch.nn.Linear, GELU and AdaptiveAvgPool3d, compared with NumPy; initial weights; helpers for all layers."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterator, Mapping, Sequence

import numpy as np
import torch
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

Arrays = Dict[str, Any]

ROUNDED: Mapping[str, Mapping[str, float]] = {"bfloat16": {"rtol": 1.6e-2, "atol": 2e-2}}
"""Intermediate results are rounded to bfloat16's 8 bits, such as a sum before its bias: off by 2**-8 of 1 to 4."""


QUOTIENTS: Mapping[str, Mapping[str, float]] = {"float64": {"rtol": 1e-9, "atol": 1e-9}}
"""``slopes`` are difference quotients, which are known to ten digits."""


def filled(trial: Trial, module: Any, dtype: str, bound: float | None = None) -> Arrays:
    """Set a module's parameters to known values in [-bound, bound); return them on the host in double precision.

    Without ``bound`` each parameter gets the bound for its number of inputs, or 1/2.
    """
    host = {}
    for seed, (name, parameter) in enumerate(module.named_parameters(), 21):
        inputs = parameter[0].numel() if parameter.ndim > 1 else 4
        limit = max(inputs, 1) ** -0.5 if bound is None else bound
        values = trial.random(*parameter.shape, dtype=dtype, seed=seed, low=-limit, high=limit)
        with torch.no_grad():
            parameter.copy_(trial.tensor(values, dtype))
        host[name] = widened(trial.numpy(trial.tensor(values, dtype)))
    return host


def slopes(function: Callable[[Arrays], float], point: Arrays, step: float = 1e-5) -> Arrays:
    """Return central differences in double precision, with an error of about step**2."""
    found = {}
    for name, values in point.items():
        found[name] = np.empty_like(values)
        for index in np.ndindex(*values.shape):
            there = [values.copy(), values.copy()]
            there[0][index] += step
            there[1][index] -= step
            high, low = (function({**point, name: moved}) for moved in there)
            found[name][index] = (high - low) / (2 * step)
    return found


def linear(
    trial: Trial,
    shape: Sequence[int],
    out_features: int,
    dtype: str = "float32",
    layout: str = "contiguous",
    bias: bool = True,
    training: bool = True,
    special: str | None = None,
) -> None:
    """The last axis is multiplied by the weights and the bias is added, in training and in evaluation."""
    options = {"device": trial.device, "dtype": trial.dtype(dtype)}
    module = trial.make(shape[-1], out_features, bias=bias, **options).train(training)
    weights = filled(trial, module, dtype)
    trial.equal(sorted(weights), ["bias", "weight"] if bias else ["weight"])
    x = trial.tensor(trial.random(*shape, dtype=dtype, special=special), dtype, layout)
    output = trial.call_method(module, "__call__", x)
    expected = widened(trial.numpy(x)) @ weights["weight"].T + weights.get("bias", 0)
    trial.close(output, expected, dtype=dtype, **ROUNDED.get(dtype, {}))


def linear_gradients(
    trial: Trial,
    shape: Sequence[int],
    out_features: int,
    dtype: str,
    bias: bool = True,
    layout: str = "contiguous",
) -> None:
    """The gradients of input, weight and bias are products with the incoming gradient."""
    module = trial.make(shape[-1], out_features, bias=bias, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype)
    x = trial.random(*shape, dtype=dtype)
    down = trial.random(*shape[:-1], out_features, dtype=dtype, seed=7)
    tensor = trial.tensor(x, dtype, layout).requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    trial.close(output, widened(x) @ weights["weight"].T + weights.get("bias", 0), dtype=dtype)
    (output * trial.tensor(down, dtype, layout).conj()).sum().real.backward()
    x, down = widened(x), widened(down)
    trial.close(tensor.grad, down @ weights["weight"].conj(), dtype=dtype)
    count = math.prod(shape[:-1])
    rows, above = x.reshape(count, shape[-1]), down.reshape(count, out_features)
    trial.close(module.weight.grad, above.T @ rows.conj(), dtype=dtype)
    if bias:
        trial.close(module.bias.grad, above.sum(0), dtype=dtype)


def gelu(
    trial: Trial,
    shape: Sequence[int],
    dtype: str = "float32",
    layout: str = "contiguous",
    special: str | None = None,
    **options: Any,
) -> None:
    """Each value is multiplied by its probability under the normal distribution, or by the tanh approximation
    of that."""
    x = trial.tensor(trial.random(*shape, dtype=dtype, low=-4, high=4, special=special), dtype, layout)
    output = trial.call_method(trial.make(**options), "__call__", x)
    # The tanh form can be computed in bfloat16 throughout; 1 + tanh is then off by 2**-8.
    trial.close(output, _gelu(widened(trial.numpy(x)), **options)[0], dtype=dtype, **ROUNDED.get(dtype, {}))


def gelu_values(
    trial: Trial,
    values: Sequence[Any],
    expected: Sequence[Any],
    dtype: str,
    signed_zeros: bool = False,
    **options: Any,
) -> None:
    """The given values, also infinite and NaN (written as text), become the stated ones."""
    x = trial.tensor([float(value) for value in values], dtype)
    output = trial.call_method(trial.make(**options), "__call__", x)
    trial.close(output, [float(value) for value in expected], dtype=dtype, signed_zeros=signed_zeros)


def gelu_gradients(
    trial: Trial,
    shape: Sequence[int],
    dtype: str,
    layout: str = "contiguous",
    special: str | None = None,
    **options: Any,
) -> None:
    """The gradient matches the derivative of the closed form."""
    x = trial.random(*shape, dtype=dtype, low=-3, high=3, special=special)
    down = trial.random(*shape, dtype=dtype, seed=7)
    tensor = trial.tensor(x, dtype, layout).requires_grad_()
    output = trial.call_method(trial.make(**options), "__call__", tensor)
    value, slope = _gelu(widened(x), **options)
    trial.close(output, value, dtype=dtype)
    (output * trial.tensor(down)).sum().backward()
    trial.close(tensor.grad, slope * down, dtype=dtype)


def adaptive_avg_pool3d(
    trial: Trial,
    shape: Sequence[int],
    size: Any,
    dtype: str = "float32",
    layout: str = "contiguous",
    memory_format: str | None = None,
    special: str | None = None,
) -> None:
    """Each output is the mean of its part of the volume; a size of None keeps the input's size."""
    x = trial.tensor(trial.random(*shape, dtype=dtype, special=special), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    module = trial.make(size if isinstance(size, int) else tuple(size))
    output = trial.call_method(module, "__call__", x)
    expected = widened(trial.numpy(x))
    for axis, weights in _shares(shape, size):
        # Not a product of matrices: what is not finite reaches only the means that it is part of.
        parts = [np.compress(row > 0, expected, axis).mean(axis, keepdims=True) for row in weights]
        expected = np.concatenate(parts, axis)
    trial.close(output, expected, dtype=dtype)


def adaptive_avg_pool3d_gradients(
    trial: Trial,
    shape: Sequence[int],
    size: Any,
    dtype: str,
    layout: str = "contiguous",
    memory_format: str | None = None,
) -> None:
    """The gradient of a mean is spread evenly over its part of the volume."""
    x = trial.random(*shape, dtype=dtype)
    tensor = trial.tensor(x, dtype, layout)
    if memory_format:
        tensor = tensor.to(memory_format=getattr(torch, memory_format))
    tensor.requires_grad_()
    output = trial.call_method(trial.make(size if isinstance(size, int) else tuple(size)), "__call__", tensor)
    down = trial.random(*output.shape, dtype=dtype, seed=7)
    (output * trial.tensor(down, dtype, layout)).sum().backward()
    expected, gradient = widened(x), widened(down)
    for axis, weights in _shares(shape, size):
        expected = np.moveaxis(np.moveaxis(expected, axis, -1) @ weights.T, -1, axis)
        gradient = np.moveaxis(np.moveaxis(gradient, axis, -1) @ weights, -1, axis)
    trial.close(output, expected, dtype=dtype)
    trial.close(tensor.grad, gradient, dtype=dtype)


def _gelu(x: Any, approximate: str = "none") -> tuple[Any, Any]:
    """Return the value and the derivative."""
    if approximate == "none":
        share = (1 + special.erf(x / 2**0.5)) / 2
        return x * share, share + x * np.exp(-(x**2) / 2) / (2 * np.pi) ** 0.5
    scale = (2 / np.pi) ** 0.5
    curve = np.tanh(scale * (x + 0.044715 * x**3))
    return x * (1 + curve) / 2, (1 + curve) / 2 + x * (1 - curve**2) * scale * (1 + 3 * 0.044715 * x**2) / 2


def _shares(shape: Sequence[int], size: Any) -> Iterator[tuple[int, Any]]:
    """For each of the last three axes give the matrix of the means: row i covers floor(i n/m) to ceil((i + 1) n/m)."""
    sizes = (size,) * 3 if isinstance(size, int) else size
    for axis, wanted in zip((-3, -2, -1), sizes):
        length = shape[axis]
        count = length if wanted is None else wanted
        weights = np.zeros((count, length))
        for row in range(count):
            begin, end = row * length // count, math.ceil((row + 1) * length / count)
            weights[row, begin:end] = 1 / (end - begin)
        yield axis, weights


def initial_weights(
    trial: Trial, args: Sequence[Any], bound: float, shapes: Mapping[str, Sequence[int]], dtype: str
) -> None:
    """A new layer has the documented parameters, uniformly distributed over [-bound, bound]."""
    module = trial.call(*args, device=trial.device, dtype=trial.dtype(dtype))
    parameters = dict(module.named_parameters())
    trial.equal(sorted(parameters), sorted(shapes))
    for name, shape in shapes.items():
        values = trial.numpy(parameters[name])
        trial.equal(list(values.shape), list(shape))
        trial.equal(trial.dtype_name(parameters[name]), dtype)
        largest, spread = float(np.abs(values).max()), float(values.std()) * 3**0.5
        trial.check(0.9 * bound <= largest <= 1.0001 * bound, f"{name} reaches {largest:.3g}, expected {bound:.3g}")
        trial.check(abs(spread / bound - 1) < 0.2, f"{name} spreads over {spread:.3g}, expected {bound:.3g}")


def initial_weights_follow_seed(trial: Trial, args: Sequence[Any]) -> None:
    """The same seed gives a new layer the same parameters, and the layer after it has others."""
    trial.repeatable = False
    layers = []
    for is_seeded in (True, False, True):
        if is_seeded:
            torch.manual_seed(5)
        layers.append(dict(trial.call(*args, device=trial.device).named_parameters()))
    first, following, again = layers
    for name, values in first.items():
        trial.exact(again[name], trial.numpy(values))
        equal = (trial.numpy(following[name]) == trial.numpy(values)).mean()
        trial.check(equal < 0.1, f"the next layer has {equal:.0%} of the values of {name}")
