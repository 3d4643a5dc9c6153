"""Layers without a state of their own, each computed once more in NumPy from the same weights."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Callable, Dict, Iterator, Mapping, Sequence

import numpy as np
import torch
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.convolution import convolved, windows

Arrays = Dict[str, Any]

ROUNDED: Mapping[str, Mapping[str, float]] = {"bfloat16": {"rtol": 1.6e-2, "atol": 2e-2}}
"""What is rounded to bfloat16's 8 bits on the way, such as a sum before its bias is added: off by 2**-8 of 1 to 4."""


_LONG_SUMS: Mapping[str, float] = {"rtol": 1.3e-6, "atol": 1e-4}
"""Sums of hundreds of float32 products, in whatever order: their rounding errors reach 1e-5 and beyond."""


def filled(trial: Trial, module: Any, dtype: str, bound: float | None = None) -> Arrays:
    """Gives a module's parameters known values in [-bound, bound); returns these on the host, in double precision.

    Without a bound each parameter gets that of its number of inputs, or 1/2.
    """
    host = {}
    for seed, (name, parameter) in enumerate(module.named_parameters(), 21):
        inputs = parameter[0].numel() if parameter.ndim > 1 else 4
        limit = inputs**-0.5 if bound is None else bound
        values = trial.random(*parameter.shape, dtype=dtype, seed=seed, low=-limit, high=limit)
        with torch.no_grad():
            parameter.copy_(trial.tensor(values, dtype))
        host[name] = widened(trial.numpy(trial.tensor(values, dtype)))
    return host


def slopes(function: Callable[[Arrays], float], point: Arrays, step: float = 1e-5) -> Arrays:
    """Central differences in double precision: wrong by about step**2."""
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
) -> None:
    """The last axis is multiplied with the weights and the bias added, in training as in evaluation."""
    options = {"device": trial.device, "dtype": trial.dtype(dtype)}
    module = trial.make(shape[-1], out_features, bias=bias, **options).train(training)
    weights = filled(trial, module, dtype)
    trial.equal(sorted(weights), ["bias", "weight"] if bias else ["weight"])
    x = trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout)
    output = trial.call_method(module, "__call__", x)
    expected = widened(trial.numpy(x)) @ weights["weight"].T + weights.get("bias", 0)
    trial.close(output, expected, dtype=dtype, **ROUNDED.get(dtype, {}))


def linear_gradients(trial: Trial, shape: Sequence[int], out_features: int, dtype: str) -> None:
    """The gradients of input, weight and bias are products with what comes from above."""
    module = trial.make(shape[-1], out_features, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype)
    x = trial.random(*shape, dtype=dtype)
    down = trial.random(*shape[:-1], out_features, dtype=dtype, seed=7)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    trial.close(output, widened(x) @ weights["weight"].T + weights["bias"], dtype=dtype)
    (output * trial.tensor(down).conj()).sum().real.backward()
    x, down = widened(x), widened(down)
    trial.close(tensor.grad, down @ weights["weight"].conj(), dtype=dtype)
    rows, above = x.reshape(-1, shape[-1]), down.reshape(-1, out_features)
    trial.close(module.weight.grad, above.T @ rows.conj(), dtype=dtype)
    trial.close(module.bias.grad, above.sum(0), dtype=dtype)


def gelu(
    trial: Trial, shape: Sequence[int], dtype: str = "float32", layout: str = "contiguous", **options: Any
) -> None:
    """Each value is multiplied with its probability under the normal distribution, or the tanh form of that."""
    x = trial.tensor(trial.random(*shape, dtype=dtype, low=-4, high=4), dtype, layout)
    output = trial.call_method(trial.make(**options), "__call__", x)
    # The tanh form may be computed in bfloat16 throughout: 1 + tanh is then off by 2**-8.
    trial.close(output, _gelu(widened(trial.numpy(x)), **options)[0], dtype=dtype, **ROUNDED.get(dtype, {}))


def gelu_values(trial: Trial, values: Sequence[Any], expected: Sequence[Any], dtype: str, **options: Any) -> None:
    """Given values, infinite and undefined ones (as words) too, become the stated ones."""
    x = trial.tensor([float(value) for value in values], dtype)
    output = trial.call_method(trial.make(**options), "__call__", x)
    trial.close(output, [float(value) for value in expected], dtype=dtype)


def gelu_gradients(trial: Trial, shape: Sequence[int], dtype: str, **options: Any) -> None:
    """The gradient is the slope of the closed form."""
    x = trial.random(*shape, dtype=dtype, low=-3, high=3)
    down = trial.random(*shape, dtype=dtype, seed=7)
    tensor = trial.tensor(x).requires_grad_()
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
) -> None:
    """Each output is the mean of its share of the volume; a size of None keeps that of the input."""
    x = trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    module = trial.make(size if isinstance(size, int) else tuple(size))
    output = trial.call_method(module, "__call__", x)
    expected = widened(trial.numpy(x))
    for axis, weights in _shares(shape, size):
        expected = np.moveaxis(np.moveaxis(expected, axis, -1) @ weights.T, -1, axis)
    trial.close(output, expected, dtype=dtype)


def adaptive_avg_pool3d_gradients(trial: Trial, shape: Sequence[int], size: Any, dtype: str) -> None:
    """The gradient of a mean is spread evenly over its share of the volume."""
    x = trial.random(*shape, dtype=dtype)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(trial.make(size if isinstance(size, int) else tuple(size)), "__call__", tensor)
    down = trial.random(*output.shape, dtype=dtype, seed=7)
    (output * trial.tensor(down)).sum().backward()
    expected, gradient = widened(x), widened(down)
    for axis, weights in _shares(shape, size):
        expected = np.moveaxis(np.moveaxis(expected, axis, -1) @ weights.T, -1, axis)
        gradient = np.moveaxis(np.moveaxis(gradient, axis, -1) @ weights, -1, axis)
    trial.close(output, expected, dtype=dtype)
    trial.close(tensor.grad, gradient, dtype=dtype)


def conv3d(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str = "float32",
    layout: str = "contiguous",
    memory_format: str | None = None,
    **options: Any,
) -> None:
    """The forward pass is the sum over the kernel's positions of shifted inputs times weights, plus the bias."""
    module = trial.make(shape[-4], out_channels, kernel, device=trial.device, dtype=trial.dtype(dtype), **options)
    weights = filled(trial, module, dtype)
    x = trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    output = trial.call_method(module, "__call__", x)
    allowed = _LONG_SUMS if dtype == "float32" and weights["weight"][0].size > 200 else ROUNDED.get(dtype, {})
    trial.close(output, convolved(widened(trial.numpy(x)), weights, **options), dtype=dtype, **allowed)


def conv3d_gradients(
    trial: Trial,
    shape: Sequence[int],
    out_channels: int,
    kernel: Sequence[int],
    dtype: str,
    stride: Sequence[int] = (1, 1, 1),
) -> None:
    """The gradients of input, weight and bias are those of the sum over the kernel's positions."""
    module = trial.make(shape[1], out_channels, kernel, stride, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype)
    x = trial.random(*shape, dtype=dtype)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    trial.close(output, convolved(widened(x), weights, stride=stride), dtype=dtype)
    down = trial.random(*output.shape, dtype=dtype, seed=7)
    (output * trial.tensor(down)).sum().backward()
    x, down, weight = widened(x), widened(down), weights["weight"]
    x_gradient, weight_gradient = np.zeros_like(x), np.zeros_like(weight)
    for position, window in windows(shape[2:], kernel, stride, (1, 1, 1)):
        weight_gradient[(..., *position)] = np.einsum("nodhw,ncdhw->oc", down, x[window])
        x_gradient[window] += np.einsum("nodhw,oc->ncdhw", down, weight[(..., *position)])
    trial.close(tensor.grad, x_gradient, dtype=dtype)
    trial.close(module.weight.grad, weight_gradient, dtype=dtype)
    trial.close(module.bias.grad, down.sum((0, 2, 3, 4)), dtype=dtype)


def sequential(
    trial: Trial, sizes: Sequence[int], shape: Sequence[int], dtype: str = "float32", layout: str = "contiguous"
) -> None:
    """The modules are applied one after the other."""
    net, weights = _net(trial, sizes, dtype)
    x = trial.tensor(trial.random(*shape, sizes[0], dtype=dtype), dtype, layout)
    output = trial.call_method(net, "__call__", x)
    expected = _chained(widened(trial.numpy(x)), weights)
    trial.close(output, expected, dtype=dtype, **ROUNDED.get(dtype, {}))


def sequential_gradients(trial: Trial, sizes: Sequence[int], dtype: str) -> None:
    """The gradients of the input and of every module's parameters are the slopes of the chain."""
    net, weights = _net(trial, sizes, dtype)
    x, down = trial.random(3, sizes[0], dtype=dtype), trial.random(3, sizes[-1], dtype=dtype, seed=7)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(net, "__call__", tensor)
    trial.close(output, _chained(widened(x), weights), dtype=dtype)
    (output * trial.tensor(down)).sum().backward()
    expected = slopes(lambda at: float((_chained(at["x"], at) * down).sum()), {**weights, "x": widened(x)})
    trial.close(tensor.grad, expected["x"], dtype=dtype)
    for name, parameter in net.named_parameters():
        trial.close(parameter.grad, expected[name], dtype=dtype)


def sequential_named(trial: Trial, dtype: str) -> None:
    """Made from an ordered dict, the modules have its names, in its order, and are applied in that order."""
    parts = OrderedDict(last=torch.nn.Linear(3, 5), curve=torch.nn.Tanh(), first=torch.nn.Linear(5, 2, bias=False))
    net = trial.make(parts).to(trial.device, trial.dtype(dtype))
    weights = filled(trial, net, dtype)
    trial.equal([name for name, _ in net.named_children()], ["last", "curve", "first"])
    trial.equal(list(weights), ["last.weight", "last.bias", "first.weight"])
    trial.check(net.first is net[2] and net.last is net[0], "a module stands under another name than its own")
    x = trial.random(4, 3, dtype=dtype)
    output = trial.call_method(net, "__call__", trial.tensor(x))
    hidden = np.tanh(widened(x) @ weights["last.weight"].T + weights["last.bias"])
    trial.close(output, hidden @ weights["first.weight"].T, dtype=dtype)


def sequential_item(trial: Trial, index: int, place: int) -> None:
    """An index, from the front or the back, gives the module itself."""
    modules = [torch.nn.Linear(size, size + 1) for size in range(1, 6)]
    net = trial.make(*modules)
    found = trial.call_method(net, "__getitem__", index)
    trial.check(found is modules[place], f"[{index}] is not module {place}")


def sequential_slice(trial: Trial, begin: int | None, end: int | None, step: int | None) -> None:
    """A slice is a chain of the same modules, not of copies, and computes what they compute."""
    net, weights = _net(trial, [4] * 6, "float32")
    part = trial.call_method(net, "__getitem__", slice(begin, end, step))
    trial.check(isinstance(part, torch.nn.Sequential), f"a slice is a {type(part).__name__}")
    wanted = list(range(9))[begin:end:step]
    trial.equal(len(part), len(wanted))
    trial.check(all(mine is net[number] for mine, number in zip(part, wanted)), "the slice has other modules")
    x = trial.random(3, 4)
    kept = {name: values for name, values in weights.items() if int(name.split(".")[0]) in wanted}
    trial.close(part(trial.tensor(x)), _chained(widened(x), kept, wanted), dtype="float32")


def sequential_length(trial: Trial, count: int) -> None:
    """The length is the number of modules, and iteration gives each once, in order."""
    modules = [torch.nn.Tanh() for _ in range(count)]
    net = trial.make(*modules)
    trial.equal(trial.call_method(net, "__len__"), count)
    trial.equal(len(list(net)), count)
    trial.check(all(mine is module for mine, module in zip(net, modules)), "the modules come in another order")


def sequential_append(trial: Trial) -> None:
    """An appended module works last; the chain itself comes back."""
    net, _ = _net(trial, [3, 4], "float32")
    trial.repeatable = False
    returned = trial.call_method(net, "append", torch.nn.Linear(4, 2).to(trial.device))
    trial.check(returned is net, "append gave something else than the chain")
    weights = filled(trial, net, "float32")
    trial.equal(list(weights), ["0.weight", "0.bias", "1.weight", "1.bias"])
    x = trial.random(5, 3)
    hidden = widened(x) @ weights["0.weight"].T + weights["0.bias"]
    trial.close(net(trial.tensor(x)), hidden @ weights["1.weight"].T + weights["1.bias"], dtype="float32")


def sequential_modes(trial: Trial, dtype: str) -> None:
    """Training and evaluation reach every module: dropout and batch normalization work, or stand still."""
    parts = (torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3))
    net = trial.make(*parts).to(trial.device, trial.dtype(dtype))
    weights = filled(trial, net, dtype)
    x = trial.random(40, 6, dtype=dtype, low=1, high=2)
    tensor = trial.tensor(x)
    output = trial.call_method(net.eval(), "__call__", tensor)
    normed = widened(x) / (1 + 1e-5) ** 0.5 * weights["1.weight"] + weights["1.bias"]
    trial.close(output, normed @ weights["2.weight"].T + weights["2.bias"], dtype=dtype)
    trial.equal(net[1].num_batches_tracked, 0)
    trial.repeatable = False
    trained = trial.call_method(net.train(), "__call__", tensor)
    trial.equal(net[1].num_batches_tracked, 1)
    # After batch normalization in training the mean of each column is its bias, whatever was dropped.
    expected = weights["1.bias"] @ weights["2.weight"].T + weights["2.bias"]
    trial.close(trained.mean(0), expected, dtype=dtype)
    means = widened(trial.numpy(net[1].running_mean))
    ratio = 10 * means / x.mean(0)
    trial.check((abs(ratio - 1) < 0.8).all() and ratio.std() > 0.01, f"the running means are {ratio} of the means")


def sequential_pipeline(trial: Trial, dtype: str) -> None:
    """Convolution, activation, pooling, flattening and a linear layer make a network of images."""
    parts = (
        torch.nn.Conv2d(3, 4, 1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 3 * 4, 5),
    )
    net = trial.make(*parts).to(trial.device, trial.dtype(dtype))
    weights = filled(trial, net, dtype)
    x = trial.random(2, 3, 6, 8, dtype=dtype)
    output = trial.call_method(net, "__call__", trial.tensor(x))
    hidden = np.einsum("nchw,oc->nohw", widened(x), weights["0.weight"][:, :, 0, 0])
    hidden = np.maximum(hidden + weights["0.bias"][:, None, None], 0)
    hidden = hidden.reshape(2, 4, 3, 2, 4, 2).max((3, 5)).reshape(2, -1)
    trial.close(output, hidden @ weights["4.weight"].T + weights["4.bias"], dtype=dtype)


def _net(trial: Trial, sizes: Sequence[int], dtype: str) -> tuple[Any, Arrays]:
    """Linear layers of these sizes with a tanh between any two, and the values of their parameters."""
    modules: list[Any] = []
    for before, after in zip(sizes, sizes[1:]):
        modules += [torch.nn.Tanh()] if modules else []
        modules += [torch.nn.Linear(before, after)]
    net = trial.make(*modules).to(trial.device, trial.dtype(dtype))
    return net, filled(trial, net, dtype)


def _chained(x: Any, weights: Arrays, numbers: Sequence[int] | None = None) -> Any:
    """What these modules of such a net compute: the even ones are linear, the odd ones a tanh."""
    for number in range(2 * len([name for name in weights if "weight" in name]) - 1) if numbers is None else numbers:
        x = np.tanh(x) if number % 2 else x @ weights[f"{number}.weight"].T + weights[f"{number}.bias"]
    return x


def _gelu(x: Any, approximate: str = "none") -> tuple[Any, Any]:
    """The value and the slope."""
    if approximate == "none":
        share = (1 + special.erf(x / 2**0.5)) / 2
        return x * share, share + x * np.exp(-(x**2) / 2) / (2 * np.pi) ** 0.5
    scale = (2 / np.pi) ** 0.5
    curve = np.tanh(scale * (x + 0.044715 * x**3))
    return x * (1 + curve) / 2, (1 + curve) / 2 + x * (1 - curve**2) * scale * (1 + 3 * 0.044715 * x**2) / 2


def _shares(shape: Sequence[int], size: Any) -> Iterator[tuple[int, Any]]:
    """For each of the last three axes the matrix of the means: row i covers floor(i n/m) to ceil((i + 1) n/m)."""
    sizes = (size,) * 3 if isinstance(size, int) else size
    for axis, wanted in zip((-3, -2, -1), sizes):
        length = shape[axis]
        count = length if wanted is None else wanted
        weights = np.zeros((count, length))
        for row in range(count):
            begin, end = row * length // count, math.ceil((row + 1) * length / count)
            weights[row, begin:end] = 1 / (end - begin)
        yield axis, weights
