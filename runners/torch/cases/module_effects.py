"""What methods of torch.nn.Module leave as it was: gradients, hooks, options and the parameters that they are given."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


class Scale(torch.nn.Parameter):  # type: ignore[misc]
    """A kind of parameter of its own."""


def _ones(trial: Trial, *shape: int) -> Any:
    return trial.tensor(np.ones(shape, "float32"))


def gradients_of_others(trial: Trial, set_to_none: bool) -> None:
    """zero_grad leaves the gradients of buffers, of a copy and of modules that are no children. It keeps the hooks of
    parameters, and a gradient that is dropped keeps its values."""
    net, held = torch.nn.Linear(2, 2).to(trial.device), torch.nn.Linear(2, 1).to(trial.device)
    net.register_buffer("table", _ones(trial, 2).requires_grad_())
    net.__dict__["others"] = [held]
    seen: list[Any] = []
    net.weight.register_hook(seen.append)
    trial.repeatable = False
    for parameter in (*net.parameters(), net.table, *held.parameters()):
        parameter.grad = torch.full_like(parameter, 3.0)
    twin, before = copy.deepcopy(net), net.weight.grad
    for parameter in twin.parameters():
        parameter.grad = torch.full_like(parameter, 5.0)
    trial.check(trial.call(net, set_to_none=set_to_none) is None, "expected None to be returned")
    for gradient in (net.weight.grad, net.bias.grad):
        if set_to_none:
            trial.check(gradient is None, "a gradient is left")
        else:
            trial.exact(gradient, np.zeros(list(gradient.shape)), "float32")
    trial.exact(before, np.full((2, 2), 3.0 if set_to_none else 0.0), "float32")
    for tensor, value in ((net.table, 3.0), (held.weight, 3.0), (held.bias, 3.0), (twin.weight, 5.0), (twin.bias, 5.0)):
        trial.exact(tensor.grad, np.full(list(tensor.shape), value), "float32")
    net(_ones(trial, 1, 2)).sum().backward()
    trial.equal(len(seen), 1)
    trial.exact(net.weight.grad, np.ones((2, 2)), "float32")


def sparse_gradients(trial: Trial, set_to_none: bool) -> None:
    """zero_grad clears a sparse gradient too, and the next one does not add to it."""
    table = torch.nn.Embedding(4, 2, sparse=True).to(trial.device)
    trial.repeatable = False
    for places in ([1, 1, 3], [0, 3]):
        table(trial.tensor(np.array(places))).sum().backward()
        trial.check(table.weight.grad.is_sparse, "the gradient is not sparse")
        expected = np.zeros((4, 2))
        np.add.at(expected, places, 1)
        trial.exact(table.weight.grad.to_dense(), expected, "float32")
        trial.check(trial.call(table, set_to_none=set_to_none) is None, "expected None to be returned")
        left = table.weight.grad
        trial.equal(left is None, set_to_none)
        trial.check(left is None or not trial.numpy(left.to_dense()).any(), f"a gradient is left: {left}")


def statistics_alone(trial: Trial) -> None:
    """reset_running_stats changes nothing but the statistics: gradients, frozen weights, options and hooks stay, and a
    copy has statistics of its own. A layer that tracks none any more keeps those that it has."""
    layer = torch.nn.BatchNorm2d(2, eps=0.25, momentum=0.5).to(trial.device)
    seen: list[Any] = []
    layer.register_forward_hook(lambda *_: seen.append(1))
    layer.weight.requires_grad_(False)
    x = trial.random(3, 2, 2, 2, seed=1, low=4, high=6)
    layer(trial.tensor(x)).sum().backward()
    known = layer.bias.grad
    twin, mean = copy.deepcopy(layer), trial.numpy(layer.running_mean).copy()
    trial.repeatable = False
    layer.track_running_stats = False
    trial.check(trial.call(layer) is None, "expected None to be returned")
    trial.exact(layer.running_mean, mean, "float32")
    layer.track_running_stats = True
    trial.check(trial.call(layer) is None, "expected None to be returned")
    trial.exact(layer.running_mean, [0, 0], "float32")
    trial.exact(layer.running_var, [1, 1], "float32")
    trial.exact(twin.running_mean, mean, "float32")
    trial.equal(int(twin.num_batches_tracked), 1)
    trial.check(layer.bias.grad is known, "the gradient is another one")
    trial.equal([layer.weight.requires_grad, layer.bias.requires_grad], [False, True])
    trial.equal([layer.eps, layer.momentum, layer.affine, layer.training], [0.25, 0.5, True, True])
    layer(trial.tensor(x))
    trial.equal(len(seen), 2)


def parameter_as_given(trial: Trial) -> None:
    """register_parameter leaves a parameter as it is: its class, attributes, gradient, hooks, strides, and whether it
    wants a gradient. The mode of the module stays, and the parameter can belong to two modules."""
    values = trial.random(2, 3, seed=1)
    scale, frozen = Scale(trial.tensor(values).T), torch.nn.Parameter(_ones(trial, 2), requires_grad=False)
    scale.kind, scale.grad, strides = "scale", torch.full_like(scale, 2.0), list(scale.stride())
    seen: list[Any] = []
    scale.register_hook(seen.append)
    modules = [torch.nn.Module().eval(), torch.nn.Module()]
    for module in modules:
        for name, parameter in (("scale", scale), ("frozen", frozen)):
            trial.check(trial.call(module, name, parameter) is None, "expected None to be returned")
            trial.check(module._parameters[name] is parameter, "the module has another parameter")
    trial.equal([module.training for module in modules], [False, True])
    trial.equal([type(scale) is Scale, scale.kind, list(scale.stride())], [True, "scale", strides])
    trial.equal([scale.requires_grad, frozen.requires_grad], [True, False])
    (modules[0].scale * 3).sum().backward()
    trial.equal(len(seen), 1)
    trial.exact(modules[1].scale.grad, np.full((3, 2), 5.0), "float32")


def parameter_names(trial: Trial) -> None:
    """register_parameter takes any name without a dot; None takes the place of a parameter, and an uninitialized one is
    registered. Modules that are copied or pickled have all of them."""
    module = torch.nn.Linear(1, 1).to(trial.device)
    names = ["Weight", "weight_1" * 12, "two words", "0", "größe"]
    trial.repeatable = False
    for number, name in enumerate(names):
        given = torch.nn.Parameter(trial.tensor(np.array([number + 0.5], "float32")))
        trial.check(trial.call(module, name, given) is None, "expected None to be returned")
    trial.check(trial.call(module, "bias", None) is None, "expected None to be returned")
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        found = dict(each.named_parameters())
        trial.equal(list(found), ["weight", *names])
        trial.equal([float(found[name]) for name in names], [number + 0.5 for number in range(len(names))])
        trial.check(each.bias is None, "the parameter that None replaced is left")
    late = torch.nn.parameter.UninitializedParameter()
    trial.check(trial.call(module, "late", late) is None, "expected None to be returned")
    trial.check(dict(module.named_parameters())["late"] is late, "the module has another parameter")


def added_names(trial: Trial) -> None:
    """add_module takes any name without a dot, and leaves it as it is. A child keeps its dtype, which is not that of
    its parent."""
    net = torch.nn.Module()
    net.weight = torch.nn.Parameter(_ones(trial, 2))
    names = ["Layer", "_hidden", "__private", "layer_1" * 12, " two words ", "0", "-1", "größe", "class", "a\tb"]
    children = []
    trial.repeatable = False
    for number, name in enumerate(names):
        child = torch.nn.Linear(1, 1, dtype=(torch.float64, torch.bfloat16)[number % 2], device=trial.device)
        children.append(child)
        trial.check(trial.call(net, name, child) is None, "expected None to be returned")
        trial.check(getattr(net, name) is child, f"the attribute {name!r} is not the module")
    trial.equal([name for name, _ in net.named_children()], names)
    trial.check(all(one is other for one, other in zip(net.children(), children)), "a child was replaced")
    trial.equal(
        list(net.state_dict()), ["weight", *(f"{name}.{part}" for name in names for part in ("weight", "bias"))]
    )
    kinds = [trial.dtype_name(child.weight) for child in children]
    trial.equal(kinds, [("float64", "bfloat16")[number % 2] for number in range(len(names))])
    trial.equal(
        [trial.dtype_name(net.weight), "weight" in net.__dict__, "Layer" in net.__dict__], ["float32", False, False]
    )


def refuses_member(trial: Trial, kind: str) -> None:
    """A name that is no text, and a member that is neither None nor of the right class, raise a TypeError; names that
    are taken by a member or attribute of another kind raise a KeyError. The module stays as it was.

    ``kind``: "module" or "parameter".
    """
    net = torch.nn.BatchNorm2d(2).to(trial.device)
    net.add_module("inner", torch.nn.Linear(1, 1))
    state, own = list(net.state_dict()), sorted(net.__dict__)
    good = torch.nn.Linear(1, 1) if kind == "module" else torch.nn.Parameter(_ones(trial, 1))
    others = [_ones(trial, 1), [1.0], 1.0, "text", np.ones(1), torch.nn.Linear, (good,), lambda x: x]
    others.append(torch.nn.Parameter(_ones(trial, 1)) if kind == "module" else torch.nn.Linear(1, 1))
    for name in (b"name", 3, None, 1.5, ("a",), ["a"]):
        trial.raises(["TypeError"], "str", net, name, good)
    for other in others:
        trial.raises(["TypeError"], "Module subclass" if kind == "module" else "Parameter", net, "name", other)
    taken = ["running_mean", "forward", "training", "eps", "_modules", "weight" if kind == "module" else "inner"]
    for name in taken:
        trial.raises(["KeyError"], "exists", net, name, good)
        trial.raises(["KeyError"], "exists", net, name, None)
    for name in ("a.b", ".", "inner.weight"):
        trial.raises(["KeyError"], "contain", net, name, good)
    trial.raises(["KeyError"], "empty string", net, "", good)
    trial.equal([list(net.state_dict()), sorted(net.__dict__)], [state, own])


def reset_keeps_the_rest(trial: Trial, affine: bool, tracks: bool) -> None:
    """A reset leaves weight, bias and their gradients, options, mode and hooks as they are, whether or not statistics
    are tracked, and the buffers are the same tensors."""
    norm = torch.nn.BatchNorm2d(5, eps=0.25, momentum=0.5, affine=affine, track_running_stats=tracks).to(trial.device)
    called: list[Any] = []
    norm.register_forward_hook(lambda *_: called.append("hook"))
    for number, parameter in enumerate(norm.parameters()):
        parameter.data.copy_(trial.tensor(trial.random(5, seed=number)))
        parameter.grad = trial.tensor(trial.random(5, seed=number + 5))
    gradients = [parameter.grad for parameter in norm.parameters()]
    given = trial.tensor(trial.random(2, 5, 3, 3, seed=9))
    trial.repeatable, trial.writes = False, True
    for training in (True, False):
        norm.train()(given)
        norm.train(training)
        members = [*norm._parameters.items(), *norm._buffers.items()]
        trial.check(trial.call(norm) is None, "expected None to be returned")
        now = [*norm._parameters.items(), *norm._buffers.items()]
        trial.equal([name for name, _ in now], [name for name, _ in members])
        trial.check(all(one is other for (_, one), (_, other) in zip(now, members)), "a tensor was replaced")
        facts = [norm.training, norm.affine, norm.track_running_stats, norm.eps, norm.momentum, norm.num_features]
        trial.equal(facts, [training, affine, tracks, 0.25, 0.5, 5])
        for number, (parameter, gradient) in enumerate(zip(norm.parameters(), gradients)):
            trial.exact(parameter.detach(), trial.random(5, seed=number), "float32")
            trial.check(parameter.grad is gradient and parameter.requires_grad, "a gradient or its flag was changed")
            trial.exact(gradient, trial.random(5, seed=number + 5), "float32")
        if tracks:
            trial.exact(norm.running_mean, np.zeros(5), "float32")
            trial.exact(norm.running_var, np.ones(5), "float32")
            trial.exact(norm.num_batches_tracked, np.array(0), "int64")
    trial.equal(called, ["hook", "hook"])
