"""Methods that reset a module's gradients and running statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


class _Net(torch.nn.Module):
    """A module with its own parameter, an inner, a shared, a frozen and an unused one, and a buffer."""

    def __init__(self, trial: Trial, dtype: str) -> None:
        super().__init__()

        def parameter(seed: int, *shape: int) -> Any:
            return torch.nn.Parameter(trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype))

        self.own = parameter(1, 4, 3)
        self.inner = torch.nn.Module()
        self.inner.weight = parameter(2, 5)
        self.inner.again = self.own
        self.frozen = parameter(3, 2).requires_grad_(False)
        self.idle = parameter(4, 2)
        self.register_buffer("kept", trial.tensor(trial.random(3, dtype=dtype, seed=5), dtype))


def zero_grad_of(trial: Trial, dtype: str, **options: Any) -> None:
    """Every gradient in the module and its children becomes zero, or None if requested; nothing else changes."""
    net, outside = _Net(trial, dtype), _Net(trial, dtype)
    given = {}
    for number, module in enumerate((net, outside)):
        for seed, name in enumerate(("own", "inner.weight", "frozen"), 10 + 10 * number):
            parameter = dict(module.named_parameters())[name]
            values = trial.random(*parameter.shape, dtype=dtype, seed=seed, special="nonfinite")
            parameter.grad = trial.tensor(values, dtype)
            given[number, name] = parameter.grad
    before = [(name, trial.numpy(value)) for name, value in net.state_dict().items()]
    expected = trial.numpy(outside.own.grad)

    trial.check(trial.call(net, **options) is None, "expected None to be returned")

    for parameter, shape in ((net.own, (4, 3)), (net.inner.weight, (5,)), (net.frozen, (2,))):
        _check_cleared(trial, parameter, shape, dtype, options.get("set_to_none"))
    if options.get("set_to_none") is False:
        trial.check(net.own.grad is given[0, "own"], "the gradient was replaced, not set to zero")
    trial.check(net.idle.grad is None, "a gradient appeared where there was none")
    trial.exact(outside.own.grad, expected, dtype)
    for (name, values), (found, tensor) in zip(before, net.state_dict().items()):
        trial.equal(found, name)
        trial.exact(tensor, values, dtype)


def zero_grad_between_steps(trial: Trial, dtype: str, **options: Any) -> None:
    """It keeps the gradients of two passes from adding up; without it they add up."""
    layer = torch.nn.Linear(3, 2).to(trial.device, trial.dtype(dtype))
    inputs = [trial.random(4, 3, dtype=dtype, seed=seed) for seed in (1, 2, 3)]

    def backward(x: Any) -> None:
        layer(trial.tensor(x)).sum().backward()

    def gradients(*parts: Any) -> Any:
        return np.tile(sum(widened(part).sum(0) for part in parts), (2, 1))

    backward(inputs[0])
    backward(inputs[1])
    trial.close(layer.weight.grad, gradients(*inputs[:2]), dtype=dtype)
    trial.repeatable = False
    trial.check(trial.call(layer, **options) is None, "expected None to be returned")
    backward(inputs[2])
    trial.close(layer.weight.grad, gradients(inputs[2]), dtype=dtype)
    trial.close(layer.bias.grad, [4.0, 4.0], dtype=dtype)


def zero_grad_detaches(trial: Trial, dtype: str) -> None:
    """A gradient from a pass with create_graph=True, itself differentiable, becomes zero and loses its history."""
    net = torch.nn.Module()
    values = trial.random(6, dtype=dtype, seed=1)
    net.weight = torch.nn.Parameter(trial.tensor(values))
    (net.weight**3).sum().backward(create_graph=True)
    trial.close(net.weight.grad, 3 * widened(values) ** 2, dtype=dtype)
    trial.check(net.weight.grad.grad_fn is not None, "the gradient has no history")
    trial.check(trial.call(net, set_to_none=False) is None, "expected None to be returned")
    trial.exact(net.weight.grad, np.zeros(6), dtype)
    trial.equal([net.weight.grad.requires_grad, net.weight.requires_grad], [False, True])


def zero_grad_training(trial: Trial, steps: int, **options: Any) -> None:
    """A training loop that calls it before each step follows plain gradient descent."""
    x, y = trial.random(16, 3, seed=1), trial.random(16, 1, seed=2)
    layer = torch.nn.Linear(3, 1, bias=False).to(trial.device)
    w = trial.random(1, 3, seed=3)
    with torch.no_grad():
        layer.weight.copy_(trial.tensor(w))
    w, inputs, targets = widened(w), trial.tensor(x), trial.tensor(y)
    trial.repeatable = False
    for _ in range(steps):
        trial.check(trial.call(layer, *options.values()) is None, "expected None to be returned")
        ((layer(inputs) - targets) ** 2).mean().backward()
        with torch.no_grad():
            layer.weight.sub_(0.1 * layer.weight.grad)
        w = w - 0.1 * 2 * (w @ x.T - y.T) @ x / len(x)
    trial.close(layer.weight, w, dtype="float32")


def zero_grad_by_position(trial: Trial) -> None:
    """The option can be given by position. A module in evaluation and a parameter that wants no gradient any more are
    cleared, and only those of the module."""
    for to_none in (False, True, False):
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2)).to(trial.device).eval()
        for number, parameter in enumerate(net.parameters()):
            parameter.grad = torch.full_like(parameter, -(10.0**number))
        net[0].bias.requires_grad_(False)
        trial.repeatable = False
        trial.check(trial.call(net[0], to_none) is None, "expected None to be returned")
        _check_cleared(trial, net[0].weight, (2, 3), "float32", to_none)
        _check_cleared(trial, net[0].bias, (2,), "float32", to_none)
        trial.exact(net[1].weight.grad, np.full((2, 2), -100.0), "float32")
        trial.equal([net.training, net[0].weight.requires_grad, net[0].bias.requires_grad], [False, True, False])


def zero_grad_large(trial: Trial, layers: int, width: int, **options: Any) -> None:
    """In a large module every layer's gradients are cleared."""
    net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers))).to(trial.device)
    for number, parameter in enumerate(net.parameters()):
        parameter.grad = torch.full_like(parameter, number + 1)
    trial.check(trial.call(net, **options) is None, "expected None to be returned")
    for layer in net:
        _check_cleared(trial, layer.weight, (width, width), "float32", options.get("set_to_none"))
        _check_cleared(trial, layer.bias, (width,), "float32", options.get("set_to_none"))


def _check_cleared(trial: Trial, parameter: Any, shape: Any, dtype: str, to_none: Any) -> None:
    """``to_none`` None: the default of the version, which is zeros before PyTorch 2.0 and None since."""
    if to_none or (to_none is None and parameter.grad is None):
        trial.check(parameter.grad is None, f"expected no gradient, got {parameter.grad}")
    else:
        trial.exact(parameter.grad, np.zeros(shape), dtype)


def reset_running_stats_of(trial: Trial, features: int, dtype: str, affine: bool = True, training: bool = True) -> None:
    """Mean, variance and count become 0, 1 and 0 in the same tensors; weight, bias and mode stay unchanged."""
    layer, host = _norm(trial, features, dtype, affine=affine)
    layer.train(training)
    layer.running_mean[0], layer.running_var[-1] = float("nan"), float("inf")
    buffers = dict(layer.named_buffers())
    trial.check(trial.call(layer) is None, "expected None to be returned")
    trial.equal(list(dict(layer.named_buffers())), ["running_mean", "running_var", "num_batches_tracked"])
    for name, values, kind in (
        ("running_mean", np.zeros(features), dtype),
        ("running_var", np.ones(features), dtype),
        ("num_batches_tracked", 0, "int64"),
    ):
        trial.check(getattr(layer, name) is buffers[name], f"{name} is a different tensor than before")
        trial.exact(buffers[name], values, kind)
    trial.equal(
        [layer.training, *(name for name, _ in layer.named_parameters())], [training, *["weight", "bias"][: 2 * affine]]
    )
    for name, parameter in layer.named_parameters():
        trial.exact(parameter, host[name], dtype)


def reset_running_stats_untracked(trial: Trial, training: bool) -> None:
    """A layer without statistics has none afterwards, and normalizes by the moments of the batch."""
    layer = torch.nn.BatchNorm2d(3, track_running_stats=False).to(trial.device).train(training)
    trial.check(trial.call(layer) is None, "expected None to be returned")
    found = [getattr(layer, name) for name in ("running_mean", "running_var", "num_batches_tracked")]
    trial.check(found == [None] * 3, f"expected no statistics, got {found}")
    trial.equal(layer.training, training)
    x = trial.random(4, 3, 5, 5, seed=9)
    center, spread = (moment((0, 2, 3), keepdims=True) for moment in (widened(x).mean, widened(x).var))
    trial.close(layer(trial.tensor(x)), (widened(x) - center) / np.sqrt(spread + layer.eps), dtype="float32")


def reset_running_stats_evaluates(trial: Trial, dtype: str) -> None:
    """In evaluation a reset layer only scales and shifts its input."""
    layer, host = _norm(trial, 3, dtype)
    x = trial.random(2, 3, 4, 5, dtype=dtype, seed=9)
    trial.check(trial.call(layer) is None, "expected None to be returned")
    weight, bias = (widened(host[name])[:, None, None] for name in ("weight", "bias"))
    trial.close(layer.eval()(trial.tensor(x)), widened(x) * weight / np.sqrt(1 + layer.eps) + bias, dtype=dtype)


def reset_running_stats_starts_over(trial: Trial, momentum: Any, dtype: str) -> None:
    """After the reset the statistics cover only later batches: moving averages, or plain ones without a momentum."""
    layer, _ = _norm(trial, 3, dtype, momentum=momentum)
    layer(trial.tensor(trial.random(4, 3, 5, 5, dtype=dtype, seed=6)))
    trial.repeatable = False
    trial.check(trial.call(layer) is None, "expected None to be returned")
    mean, variance = np.zeros(3), np.ones(3)
    for number, seed in enumerate((7, 8), 1):
        x = trial.random(4, 3, 5, 5, dtype=dtype, seed=seed) * number + seed
        layer(trial.tensor(x))
        share = 1 / number if momentum is None else momentum
        mean = (1 - share) * mean + share * widened(x).mean((0, 2, 3))
        variance = (1 - share) * variance + share * widened(x).var((0, 2, 3), ddof=1)
        trial.equal(layer.num_batches_tracked, number)
    trial.close(layer.running_mean, mean, dtype=dtype)
    trial.close(layer.running_var, variance, dtype=dtype)


def reset_running_stats_inside(trial: Trial) -> None:
    """It resets only the layer that it is called for, not the other one in the network."""
    net = torch.nn.Sequential(_norm(trial, 3, "float32")[0], _norm(trial, 3, "float32")[0])
    before = [trial.numpy(buffer) for buffer in net[1].buffers()]
    trial.check(trial.call(net[0]) is None, "expected None to be returned")
    state = net.state_dict()
    trial.exact(state["0.running_mean"], np.zeros(3), "float32")
    trial.exact(state["0.running_var"], np.ones(3), "float32")
    trial.equal(state["0.num_batches_tracked"], 0)
    for values, buffer in zip(before, net[1].buffers()):
        trial.equal(buffer, values)


def _norm(trial: Trial, features: int, dtype: str, **options: Any) -> Any:
    """Create a layer in training mode whose parameters and statistics have known values, none at its default; return
    it and the values on the host."""
    layer = torch.nn.BatchNorm2d(features, **options).to(trial.device, trial.dtype(dtype))
    host = {}
    for seed, (name, tensor) in enumerate([*layer.named_parameters(), *layer.named_buffers()], 1):
        kind = "int64" if name == "num_batches_tracked" else dtype
        given = trial.tensor(trial.random(*tensor.shape, dtype=kind, seed=seed, low=2, high=5), kind)
        with torch.no_grad():
            tensor.copy_(given)
        host[name] = trial.numpy(given)
    return layer, host


def zero_grad_of_many(trial: Trial, count: int, set_to_none: bool) -> None:
    """Every gradient of many parameters is cleared, also of those that were added after an earlier call, in a module
    that is evaluated and in children; each parameter still wants a gradient if it did before."""
    net = torch.nn.Module().eval()
    net.inner = torch.nn.ParameterList().train()
    trial.repeatable = False
    for step in range(2):
        for number in range(count):
            values = trial.random(2, seed=count * step + number)
            made = torch.nn.Parameter(trial.tensor(values), requires_grad=number % 2 == 0)
            if number % 3:
                net.register_parameter(f"weight{step}_{number}", made)
            else:
                net.inner.append(made)
        parameters = list(net.parameters())
        trial.equal(len(parameters), count * (step + 1))
        wanted = [parameter.requires_grad for parameter in parameters]
        for number, parameter in enumerate(parameters):
            parameter.grad = trial.tensor(np.array([number + 1, np.nan], "float32"))
        trial.check(trial.call(net, set_to_none=set_to_none) is None, "expected None to be returned")
        for parameter in parameters:
            _check_cleared(trial, parameter, (2,), "float32", set_to_none)
        trial.equal([parameter.requires_grad for parameter in parameters], wanted)
        trial.equal([net.training, net.inner.training], [False, True])
