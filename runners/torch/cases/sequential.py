"""torch.nn.Sequential: modules applied one after the other."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import QUOTIENTS, ROUNDED, Arrays, filled, slopes

_NEAR_POLES: Mapping[str, Mapping[str, float]] = {**ROUNDED, "complex64": {"rtol": 1e-5, "atol": 1e-4}}
"""The tangent of a complex number has poles: close to them it multiplies the roundings of its argument."""


def sequential(
    trial: Trial, sizes: Sequence[int], shape: Sequence[int], dtype: str = "float32", layout: str = "contiguous"
) -> None:
    """The modules are applied one after the other."""
    net, weights = _net(trial, sizes, dtype)
    x = trial.tensor(trial.random(*shape, sizes[0], dtype=dtype), dtype, layout)
    output = trial.call_method(net, "__call__", x)
    expected = _chained(widened(trial.numpy(x)), weights)
    trial.close(output, expected, dtype=dtype, **_NEAR_POLES.get(dtype, {}))


def sequential_gradients(trial: Trial, sizes: Sequence[int], dtype: str) -> None:
    """The gradients of the input and of every module's parameters match the derivatives of the chain."""
    net, weights = _net(trial, sizes, dtype)
    x, down = trial.random(3, sizes[0], dtype=dtype), trial.random(3, sizes[-1], dtype=dtype, seed=7)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(net, "__call__", tensor)
    trial.close(output, _chained(widened(x), weights), dtype=dtype)
    (output * trial.tensor(down)).sum().backward()
    expected = slopes(lambda at: float((_chained(at["x"], at) * down).sum()), {**weights, "x": widened(x)})
    trial.close(tensor.grad, expected["x"], dtype=dtype, **QUOTIENTS.get(dtype, {}))
    for name, parameter in net.named_parameters():
        trial.close(parameter.grad, expected[name], dtype=dtype, **QUOTIENTS.get(dtype, {}))


def sequential_named(trial: Trial, dtype: str) -> None:
    """Modules from an ordered dict keep its names and are applied in its order."""
    parts = OrderedDict(last=torch.nn.Linear(3, 5), curve=torch.nn.Tanh(), first=torch.nn.Linear(5, 2, bias=False))
    net = trial.make(parts).to(trial.device, trial.dtype(dtype))
    weights = filled(trial, net, dtype)
    trial.equal([name for name, _ in net.named_children()], ["last", "curve", "first"])
    trial.equal(list(weights), ["last.weight", "last.bias", "first.weight"])
    trial.check(net.first is net[2] and net.last is net[0], "a module has a wrong name")
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


def sequential_refuses_index(trial: Trial) -> None:
    """An index beyond the modules raises an error, from the front and from the back."""
    net = trial.make(torch.nn.Tanh(), torch.nn.ReLU())
    for index in (2, -3):
        trial.method_raises(net, "__getitem__", ["IndexError"], "out of range", index)


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
    trial.check(all(mine is module for mine, module in zip(net, modules)), "the modules are in a wrong order")


def sequential_append(trial: Trial) -> None:
    """An appended module is applied last; append returns the chain."""
    net, _ = _net(trial, [3, 4], "float32")
    trial.repeatable = False
    returned = trial.call_method(net, "append", torch.nn.Linear(4, 2).to(trial.device))
    trial.check(returned is net, "append did not return the chain")
    weights = filled(trial, net, "float32")
    trial.equal(list(weights), ["0.weight", "0.bias", "1.weight", "1.bias"])
    x = trial.random(5, 3)
    hidden = widened(x) @ weights["0.weight"].T + weights["0.bias"]
    trial.close(net(trial.tensor(x)), hidden @ weights["1.weight"].T + weights["1.bias"], dtype="float32")


def sequential_edited(trial: Trial) -> None:
    """Modules are replaced and deleted by index, from the front and from the back, and by slice. Those that remain are
    applied in order."""
    net, _ = _net(trial, [4] * 5, "float32")
    first, last = torch.nn.Linear(3, 4).to(trial.device), torch.nn.Linear(4, 2).to(trial.device)
    kept = [first, net[1], net[4], last]
    trial.repeatable = False
    for name, args in (
        ("setitem", (0, first)),
        ("setitem", (-1, last)),
        ("delitem", (slice(2, 4),)),
        ("delitem", (-2,)),
    ):
        trial.check(trial.call_method(net, f"__{name}__", *args) is None, "expected None to be returned")
    trial.equal(len(net), 4)
    trial.check(all(mine is module for mine, module in zip(net, kept)), "other modules remain than expected")
    filled(trial, net, "float32")
    x = trial.random(5, 3)
    hidden = widened(x)
    for number in (0, 2, 3):
        weight, bias = (widened(trial.numpy(parameter)) for parameter in net[number].parameters())
        hidden = hidden @ weight.T + bias
        hidden = hidden if number else np.tanh(hidden)
    trial.close(net(trial.tensor(x)), hidden, dtype="float32")


def sequential_repeated(trial: Trial, dtype: str) -> None:
    """A module that occurs twice, once in an inner chain, is applied twice. It has one set of parameters, which gets
    the sum of both gradients."""
    shared = torch.nn.Linear(4, 4)
    net = trial.make(trial.make(shared, torch.nn.Tanh()), shared).to(trial.device, trial.dtype(dtype))
    weights = filled(trial, net, dtype)
    trial.equal(list(weights), ["0.0.weight", "0.0.bias"])
    trial.equal(list(net.state_dict()), ["0.0.weight", "0.0.bias", "1.weight", "1.bias"])
    x, down = (trial.random(3, 4, dtype=dtype, seed=seed) for seed in (1, 7))
    output = trial.call_method(net, "__call__", trial.tensor(x))
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        hidden = np.tanh(widened(x) @ at["0.0.weight"].T + at["0.0.bias"])
        return hidden @ at["0.0.weight"].T + at["0.0.bias"]

    trial.close(output, computed(weights), dtype=dtype)
    expected = slopes(lambda at: float((computed(at) * down).sum()), weights)
    for name, parameter in net.named_parameters():
        trial.close(parameter.grad, expected[name], dtype=dtype, **QUOTIENTS.get(dtype, {}))


def sequential_copies(trial: Trial) -> None:
    """A chain into which the state of another one is loaded, and a copy, compute the same; later changes of the first
    do not reach them."""
    net, weights = _net(trial, [4, 6, 3], "float32")
    other, _ = _net(trial, [4, 6, 3], "float32")
    with torch.no_grad():
        other[0].weight.zero_()
    other.load_state_dict(net.state_dict())
    copies = [other, copy.deepcopy(net)]
    with torch.no_grad():
        net[0].weight.zero_()
    x = trial.random(5, 4, seed=3)
    for each in copies:
        output = trial.call_method(each, "__call__", trial.tensor(x))
        trial.close(output, _chained(widened(x), weights), dtype="float32")


def sequential_of_nothing(trial: Trial) -> None:
    """A chain without modules gives its input, whatever it is."""
    net, tensor = trial.make(), trial.tensor(trial.random(3, 2))
    for given in (tensor, (tensor, 5)):
        trial.check(trial.call_method(net, "__call__", given) is given, "the output is not the input")


def sequential_modes(trial: Trial, dtype: str) -> None:
    """The mode reaches every module: dropout and batch normalization are active in training and inactive in
    evaluation."""
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
    # After batch normalization in training the mean of each column is its bias, independent of the dropped elements.
    expected = weights["1.bias"] @ weights["2.weight"].T + weights["2.bias"]
    trial.close(trained.mean(0), expected, dtype=dtype)
    means = widened(trial.numpy(net[1].running_mean))
    ratio = 10 * means / x.mean(0)
    trial.check((abs(ratio - 1) < 0.8).all() and ratio.std() > 0.01, f"the running means are {ratio} of the means")


def sequential_pipeline(trial: Trial, dtype: str) -> None:
    """Convolution, activation, pooling, flattening and a linear layer form an image network."""
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
    """Create linear layers of these sizes with a tanh between any two; return them and their parameters' values."""
    modules: list[Any] = []
    for before, after in zip(sizes, sizes[1:]):
        modules += [torch.nn.Tanh()] if modules else []
        modules += [torch.nn.Linear(before, after)]
    net = trial.make(*modules).to(trial.device, trial.dtype(dtype))
    return net, filled(trial, net, dtype)


def _chained(x: Any, weights: Arrays, numbers: Sequence[int] | None = None) -> Any:
    """Compute what these modules of such a net compute: the even ones are linear, the odd ones a tanh."""
    for number in range(2 * len([name for name in weights if "weight" in name]) - 1) if numbers is None else numbers:
        x = np.tanh(x) if number % 2 else x @ weights[f"{number}.weight"].T + weights[f"{number}.bias"]
    return x
