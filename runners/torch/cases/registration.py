"""torch.nn.Module.register_parameter and add_module: what a module knows of its registered members."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def _parameter(trial: Trial, *shape: int, dtype: str = "float32", seed: int = 1, requires_grad: bool = True) -> Any:
    return torch.nn.Parameter(trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype), requires_grad)


def _same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return len(found) == len(expected) and all(left is right for left, right in zip(found, expected))


def register_parameter_entry(
    trial: Trial, dtype: str, shape: Sequence[int] = (3, 4), requires_grad: bool = True
) -> None:
    """The parameter itself is found under its name: as an attribute, among the parameters and in the state."""
    module, parameter = torch.nn.Module(), _parameter(trial, *shape, dtype=dtype, requires_grad=requires_grad)
    host = trial.numpy(parameter)
    trial.check(trial.call(module, "scale", parameter) is None, "expected None to be returned")
    trial.check(module.scale is parameter, "the attribute is not the parameter")
    trial.equal([name for name, _ in module.named_parameters()], ["scale"])
    trial.check(_same(list(module.parameters()), [parameter]), "the parameter is not among the module's")
    trial.equal(list(module.state_dict()), ["scale"])
    trial.exact(module.state_dict()["scale"], host, dtype)
    trial.equal(module.scale.requires_grad, requires_grad)


def register_parameter_none(trial: Trial) -> None:
    """None reserves the name: there is no parameter and no state entry until a parameter is assigned."""
    module, parameter = torch.nn.Module(), _parameter(trial, 3)
    trial.repeatable = False
    trial.check(trial.call(module, "bias", None) is None, "expected None to be returned")
    trial.check(module.bias is None, f"expected None, got {module.bias!r}")
    trial.equal([len(list(module.parameters())), len(module.state_dict())], [0, 0])
    refused = False
    try:
        module.bias = parameter.detach()
    except TypeError:
        refused = True
    trial.check(refused, "the name of a parameter took a plain tensor")
    module.bias = parameter
    trial.check(_same(list(module.parameters()), [parameter]), "the assigned parameter is not among the module's")


def register_parameter_replaces(trial: Trial) -> None:
    """A new parameter under a used name replaces the old one and keeps its position."""
    first, second, third = (_parameter(trial, 2, seed=seed) for seed in (1, 2, 3))
    module = torch.nn.Module()
    module.register_parameter("a", first)
    module.register_parameter("b", second)
    trial.check(trial.call(module, "a", third) is None, "expected None to be returned")
    trial.equal([name for name, _ in module.named_parameters()], ["a", "b"])
    trial.check(_same(list(module.parameters()), [third, second]), "the parameter was not replaced")
    trial.close(module.a, trial.random(2, seed=3), dtype="float32")


def register_parameter_names(trial: Trial) -> None:
    """Parameters are listed in the order of registration, then those of inner modules under dotted names."""
    outer, inner = torch.nn.Module(), torch.nn.Module()
    outer.inner = inner
    parameters = [_parameter(trial, size, seed=size) for size in (1, 2, 3, 4)]
    for module, name, parameter in zip((outer, inner, outer, inner), ("z", "y", "x", "w"), parameters):
        trial.check(trial.call(module, name, parameter) is None, "expected None to be returned")
    found = dict(outer.named_parameters())
    trial.equal(list(found), ["z", "x", "inner.y", "inner.w"])
    trial.check(_same(list(found.values()), [parameters[number] for number in (0, 2, 1, 3)]), "wrong parameters")
    trial.equal([name for name, _ in outer.named_parameters(recurse=False)], ["z", "x"])


def register_parameter_shared(trial: Trial) -> None:
    """One parameter under two names is counted once and has two entries in the state."""
    module, parameter = torch.nn.Module(), _parameter(trial, 4)
    trial.check(trial.call(module, "one", parameter) is None, "expected None to be returned")
    trial.check(trial.call(module, name="two", param=parameter) is None, "expected None to be returned")
    trial.check(_same(list(module.parameters()), [parameter]), "the shared parameter is not listed exactly once")
    trial.equal(list(module.state_dict()), ["one", "two"])
    trial.check(module.one is module.two, "the two names have different parameters")


def register_parameter_moves(trial: Trial, target: str) -> None:
    """A parameter from the host moves with its module to the device and to another dtype."""
    host = trial.random(5, 3, seed=4)
    module = torch.nn.Module()
    trial.repeatable = False
    returned = trial.call(module, "weight", torch.nn.Parameter(torch.from_numpy(host.copy())))
    trial.check(returned is None, "expected None to be returned")
    module.to(trial.device, trial.dtype(target))
    trial.check(isinstance(module.weight, torch.nn.Parameter), "it is not a parameter anymore")
    trial.equal(module.weight.device.type, trial.device.type)
    trial.close(module.weight, host, dtype=target)


def register_parameter_trains(trial: Trial, dtype: str) -> None:
    """The parameter gets its gradient in the module's computation, and an optimizer of the module updates it."""
    x, w = trial.random(6, 3, dtype=dtype, seed=1), trial.random(3, 2, dtype=dtype, seed=2)

    class Product(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x @ self.weight

    module = Product()
    trial.repeatable = False
    returned = trial.call(module, "weight", torch.nn.Parameter(trial.tensor(w)))
    trial.check(returned is None, "expected None to be returned")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.25)
    output = module(trial.tensor(x))
    trial.close(output, widened(x) @ widened(w), dtype=dtype)
    output.sum().backward()
    gradient = np.tile(widened(x).sum(0)[:, None], (1, 2))
    trial.close(module.weight.grad, gradient, dtype=dtype)
    optimizer.step()
    trial.close(module.weight, widened(w) - 0.25 * gradient, dtype=dtype)


def register_parameter_loads(trial: Trial, dtype: str) -> None:
    """A loaded state is written into the registered parameter itself."""
    module, parameter = torch.nn.Module(), _parameter(trial, 4, dtype=dtype)
    trial.repeatable = False
    trial.check(trial.call(module, "weight", parameter) is None, "expected None to be returned")
    values = trial.tensor(trial.random(4, dtype=dtype, seed=8), dtype)
    module.load_state_dict({"weight": values})
    trial.check(module.weight is parameter, "the parameter was replaced")
    trial.exact(parameter, trial.numpy(values), dtype)


def register_parameter_many(trial: Trial, count: int) -> None:
    """With many parameters each keeps its name and values."""
    module = torch.nn.Module()
    values = np.arange(4.0, dtype="float32")
    for number in range(count):
        trial.repeatable = number == count - 1
        returned = trial.call(module, f"p{number}", torch.nn.Parameter(trial.tensor(values + number)))
        trial.check(returned is None, "expected None to be returned")
    trial.equal([name for name, _ in module.named_parameters()], [f"p{number}" for number in range(count)])
    trial.close(torch.stack(list(module.parameters())), values + np.arange(count)[:, None], dtype="float32")


def add_module_entry(trial: Trial, dtype: str) -> None:
    """The child itself is found under its name: as an attribute, among the children and with its parameters."""
    parent, child = torch.nn.Module(), torch.nn.Linear(3, 2).to(trial.device, trial.dtype(dtype))
    host = trial.numpy(child.weight)
    trial.check(trial.call(parent, "layer", child) is None, "expected None to be returned")
    trial.check(parent.layer is child, "the attribute is not the child")
    trial.equal([name for name, _ in parent.named_children()], ["layer"])
    trial.check(_same(list(parent.children()), [child]), "the child is not among the children")
    trial.equal([name for name, _ in parent.named_modules()], ["", "layer"])
    trial.equal(list(parent.state_dict()), ["layer.weight", "layer.bias"])
    trial.exact(parent.state_dict()["layer.weight"], host, dtype)


def add_module_to_sequential(trial: Trial, widths: Sequence[int], dtype: str) -> None:
    """Layers added to a sequence are applied one after the other, and gradients reach each of them."""
    net = torch.nn.Sequential()
    x, expected, weights = trial.random(4, widths[0], dtype=dtype, seed=9), None, []
    for number, (entering, leaving) in enumerate(zip(widths, widths[1:])):
        w = trial.random(leaving, entering, dtype=dtype, seed=number) / entering**0.5
        layer = torch.nn.Linear(entering, leaving, bias=False)
        layer.weight = torch.nn.Parameter(trial.tensor(w, dtype))
        weights.append(widened(trial.numpy(layer.weight)))
        trial.check(trial.call(net, f"layer{number}", layer) is None, "expected None to be returned")
    trial.equal(len(net), len(weights))
    tensor = trial.tensor(x, dtype)
    expected = widened(trial.numpy(tensor))
    for w in weights:
        expected = expected @ w.T
    output = net(tensor)
    # Between layers bfloat16 is rounded, by up to 2**-8 of numbers of about one.
    trial.close(output, expected, atol=3e-2 if dtype == "bfloat16" else None, dtype=dtype)
    output.sum().backward()
    slope = np.ones_like(expected)
    for w in weights[:0:-1]:
        slope = slope @ w
    first = slope.T @ widened(trial.numpy(tensor))
    trial.close(net.layer0.weight.grad, first, atol=6e-2 if dtype == "bfloat16" else None, dtype=dtype)


def add_module_none(trial: Trial) -> None:
    """None reserves the name: there is no child until a module is assigned."""
    parent, child = torch.nn.Module(), torch.nn.Linear(2, 2).to(trial.device)
    trial.repeatable = False
    trial.check(trial.call(parent, "part", None) is None, "expected None to be returned")
    trial.check(parent.part is None, f"expected None, got {parent.part!r}")
    trial.equal([len(list(parent.children())), len(list(parent.modules()))], [0, 1])
    parent.part = child
    trial.check(_same(list(parent.children()), [child]), "the assigned module is not among the children")


def add_module_replaces(trial: Trial) -> None:
    """A new child under a used name replaces the old one and keeps its position."""
    first, second, third = (torch.nn.Linear(2, size).to(trial.device) for size in (1, 2, 3))
    parent = torch.nn.Sequential()
    parent.add_module("a", first)
    parent.add_module("b", second)
    trial.check(trial.call(parent, "a", third) is None, "expected None to be returned")
    trial.equal([name for name, _ in parent.named_children()], ["a", "b"])
    trial.check(_same(list(parent.children()), [third, second]), "the child was not replaced")
    trial.equal(list(parent.a.weight.shape), [3, 2])


def add_module_nested(trial: Trial) -> None:
    """The children of a child are listed too, in order and under dotted names; a shared one is listed once."""
    parent, middle = torch.nn.Module(), torch.nn.Module()
    leaf = torch.nn.Linear(2, 3).to(trial.device)
    for outer, name, inner in ((parent, "first", middle), (middle, "leaf", leaf), (parent, "second", leaf)):
        trial.check(trial.call(outer, name, inner) is None, "expected None to be returned")
    trial.equal([name for name, _ in parent.named_modules()], ["", "first", "first.leaf"])
    trial.check(_same(list(parent.modules()), [parent, middle, leaf]), "wrong modules")
    trial.equal([name for name, _ in parent.named_children()], ["first", "second"])
    trial.equal([name for name, _ in parent.named_parameters()], ["first.leaf.weight", "first.leaf.bias"])
    trial.check(parent.get_submodule("first.leaf") is leaf, "the dotted name gives another module")


def add_module_follows(trial: Trial, target: str) -> None:
    """Operations on the parent reach the child: moves, conversions, the mode and functions applied to all."""
    parent, child = torch.nn.Module(), torch.nn.BatchNorm1d(3)
    trial.repeatable = False
    trial.check(trial.call(parent, "norm", child) is None, "expected None to be returned")
    parent.to(trial.device, trial.dtype(target)).eval()
    trial.equal(child.training, False)
    trial.equal(child.running_mean.device.type, trial.device.type)
    seen: list[Any] = []
    parent.apply(seen.append)
    trial.check(_same(seen, [child, parent]), "a function applied to all did not reach the child")
    values = trial.tensor(trial.random(5, 3, seed=1), target)
    expected = widened(trial.numpy(values)) / np.sqrt(1 + child.eps)
    trial.close(child(values), expected, dtype=target)
    trial.equal(parent.train().norm.training, True)


def add_module_many(trial: Trial, count: int) -> None:
    """With many children each keeps its name, and all of them are listed."""
    modules = torch.nn.ModuleList()
    children = [torch.nn.Linear(2, 2).to(trial.device) for _ in range(count)]
    for number, child in enumerate(children):
        trial.repeatable = number == count - 1
        trial.check(trial.call(modules, str(number), child) is None, "expected None to be returned")
    trial.equal(len(modules), count)
    trial.check(_same(list(modules), children), "the children are not those that were added")
    trial.equal([name for name, _ in modules.named_children()], [str(number) for number in range(count)])
