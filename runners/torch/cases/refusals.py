"""Errors of methods of modules, and of functions that take a module: their documentation names the error."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Mapping, Sequence

import torch

from runners.core.public import names
from runners.core.testing import tree
from runners.core.testing.inputs import Builder, on_device
from runners.core.testing.trial import Trial


def forward(
    trial: Trial,
    made: Sequence[Any],
    inputs: Sequence[Any],
    raises: Mapping[str, Any],
    options: Mapping[str, Any] = {},
    training: bool = True,
) -> None:
    """A module of the class, made of ``made`` and ``options``, raises the error when it is called with the inputs."""
    builder = Builder(trial, names.framework(trial.framework))
    named = {key: item.device for key, item in builder.named(options).items()}
    module = trial.make(*(item.device for item in builder.all(made)), **named).to(trial.device).train(training)
    given = [item.device for item in builder.all(inputs)]
    trial.method_raises(module, "__call__", _classes(raises), raises["message"], *given)


def method(
    trial: Trial,
    made: Sequence[Any],
    name: str,
    args: Sequence[Any],
    raises: Mapping[str, Any],
    options: Mapping[str, Any] = {},
) -> None:
    """An instance of the class, made of ``made`` and ``options``, raises the error when its method is called."""
    builder = Builder(trial, names.framework(trial.framework))
    named = {key: item.device for key, item in builder.named(options).items()}
    instance = trial.make(*(item.device for item in builder.all(made)), **named)
    given = [item.device for item in builder.all(args)]
    trial.method_raises(instance, name, _classes(raises), raises["message"], *given)


def in_place(
    trial: Trial, shape: Sequence[int], args: Sequence[Any], leaf: bool, made: Sequence[Any] | None = None
) -> None:
    """Work in place raises an error for a tensor whose elements share memory and, if asked for, for a leaf that
    requires a gradient; neither is changed.

    ``made``: the function is a class, whose instance is made of these arguments.
    """
    values = trial.random(*shape, seed=3)
    first = trial.tensor(values[..., :1])
    shared = first.expand(*shape)
    given = [(shared, "single memory location")]
    if leaf:
        given.append((trial.tensor(values).requires_grad_(), "leaf variable"))
    for tensor, word in given:
        before = trial.numpy(tensor.detach()).copy()
        if made is None:
            trial.raises(["RuntimeError"], word, tensor, *args)
        else:
            trial.method_raises(trial.make(*made), "__call__", ["RuntimeError"], word, tensor, *args)
        trial.equal(tensor.detach(), before)


def cat_overlap(trial: Trial) -> None:
    """An output that shares memory with an input, at the beginning, in the middle or all of it, raises an error."""
    whole = trial.tensor(trial.random(8, 4))
    trial.raises(["RuntimeError"], "single memory location", [whole[:3], whole[3:6]], out=whole[1:7])
    trial.raises(["RuntimeError"], "single memory location", [whole[:3], whole[3:6]], out=whole[:6])
    trial.raises(["RuntimeError"], "single memory location", [whole[6:], whole[:3]], out=whole[:5])


def beyond_int64(trial: Trial) -> None:
    """An integer beyond 64 bits raises an error, also in the middle of others."""
    for numbers in ([2**63], [1, -(2**63) - 1, 2], [[0, 1], [2**64, 3]]):
        trial.raises(["RuntimeError", "ValueError"], "overflow", numbers, device=trial.device)


def sequential(trial: Trial) -> None:
    """A chain refuses what is no module, places that it has not, and inputs that do not fit. It keeps its modules."""
    modules = [torch.nn.Linear(4, 3).to(trial.device), torch.nn.Tanh()]
    net, x = trial.make(*modules), trial.tensor(trial.random(2, 4))
    for name, kind, word, args in (
        ("append", "TypeError", "Module subclass", (3,)),
        ("__setitem__", "TypeError", "child module", (0, "text")),
        ("__setitem__", "IndexError", "out of range", (2, torch.nn.Tanh())),
        ("__setitem__", "IndexError", "out of range", (-3, torch.nn.Tanh())),
        ("__delitem__", "IndexError", "out of range", (2,)),
        ("__delitem__", "IndexError", "out of range", (-3,)),
        ("__getitem__", "TypeError", "integer", ("0",)),
        ("__getitem__", "TypeError", "integer", (0.5,)),
        ("__call__", "TypeError", "positional", (x, x)),
        ("__call__", "TypeError", "missing", ()),
        ("__call__", "RuntimeError", "shapes cannot be multiplied", (x[:, :3],)),
        ("load_state_dict", "RuntimeError", "missing key", ({"0.weight": torch.ones(3, 4)},)),
        ("load_state_dict", "RuntimeError", "unexpected key", ({**modules[0].state_dict(prefix="0."), "1.b": x},)),
        ("load_state_dict", "RuntimeError", "size mismatch", ({"0.weight": torch.ones(3, 4), "0.bias": x},)),
    ):
        trial.method_raises(net, name, [kind], word, *args)
    trial.check(list(net) == modules, "the chain has other modules after the errors")


def sequential_of(trial: Trial) -> None:
    """A chain of anything but modules, or with a name that no child can have, raises an error."""
    tanh = torch.nn.Tanh()
    for kind, word, args in (
        ("TypeError", "Module subclass", ([tanh],)),
        ("TypeError", "Module subclass", (torch.nn.Tanh,)),
        ("TypeError", "Module subclass", (tanh, 3)),
        ("TypeError", "Module subclass", ({"a": tanh},)),
        ("TypeError", "Module subclass", (OrderedDict(a=tanh, b=3),)),
        ("TypeError", "Module subclass", (tanh, torch.tanh)),
        ("TypeError", "Module subclass", (tanh, lambda x: x)),
        ("TypeError", "Module subclass", (OrderedDict(a=tanh, b=torch.tanh),)),
        ("KeyError", "contain", (OrderedDict([("a.b", tanh)]),)),
        ("KeyError", "empty string", (OrderedDict([("", tanh)]),)),
        ("TypeError", "string", (OrderedDict([(3, tanh)]),)),
        ("KeyError", "already exists", (OrderedDict(forward=tanh),)),
    ):
        trial.raises([kind], word, *args)


def of_member(trial: Trial, word: str) -> None:
    """The method of torch.nn.Module refuses a class, a function, a number and a name that is no text or is taken by a
    buffer or an option. The module stays as it was."""
    module = torch.nn.BatchNorm1d(2)
    before = list(module.state_dict()), len(list(module.modules()))
    for value in (torch.nn.Tanh, torch.tanh, 3, "text"):
        trial.raises(["TypeError"], word, module, "a", value)
    for name in ("running_mean", "training", "eps"):
        trial.raises(["KeyError"], "already exists", module, name, None)
    for name in (None, 0.5):
        trial.raises(["TypeError"], "string", module, name, None)
    trial.check(not hasattr(module, "a"), "the refused member is there")
    trial.equal([list(module.state_dict()), len(list(module.modules()))], list(before))


def of_module(trial: Trial, args: Sequence[Any], raises: Mapping[str, Any]) -> None:
    """The method of torch.nn.Module raises the error for a module with a ``weight`` and a ``bias``."""
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    trial.raises(_classes(raises), raises["message"], torch.nn.Linear(2, 3), *given)


def _classes(raises: Mapping[str, Any]) -> Sequence[str]:
    found = raises["class"]
    return [found] if isinstance(found, str) else found


def leaves_arguments(
    trial: Trial, args: Sequence[Any], raises: Mapping[str, Any], kwargs: Mapping[str, Any] = {}
) -> None:
    """The function raises the error, and its arguments keep their values, shapes and dtypes."""
    builder = Builder(trial, names.framework(trial.framework))
    built, named = builder.all(args), builder.named(kwargs)
    given = {key: item.device for key, item in named.items()}
    arguments = [leaf for item in [*built, *named.values()] for leaf in tree.leaves(item.device)]
    tensors = [(leaf, trial.dtype_name(leaf), trial.numpy(leaf).copy()) for leaf in arguments if torch.is_tensor(leaf)]
    trial.raises(_classes(raises), raises["message"], *[item.device for item in built], **given)
    for tensor, dtype, before in tensors:
        trial.equal(list(tensor.shape), list(before.shape))
        trial.exact(tensor, before, dtype)


def several(trial: Trial, calls: Sequence[Mapping[str, Any]]) -> None:
    """Each of the ``calls``, with arguments, keywords and what it raises, raises its error."""
    for each in calls:
        builder = Builder(trial, names.framework(trial.framework))
        given = [item.device for item in builder.all(each.get("args", ()))]
        named = {key: item.device for key, item in builder.named(each.get("kwargs", {})).items()}
        trial.raises(_classes(each["raises"]), each["raises"]["message"], *given, **named)


def saddmm(trial: Trial) -> None:
    """Matrices of other sizes, also of size 1, of other dtypes or with other numbers of axes raise an error."""
    added, left, right = ((3, 4), (3, 2), (2, 4))
    for number, shape in (
        (0, (3, 5)),
        (0, (2, 4)),
        (0, (1, 4)),
        (1, (3, 1)),
        (1, (2, 2)),
        (2, (1, 4)),
        (2, (2, 1)),
        (2, (2,)),
    ):
        shapes = [added, left, right]
        shapes[number] = shape
        tensors = [trial.tensor(trial.random(*each, seed=seed)) for seed, each in enumerate(shapes)]
        trial.raises(["RuntimeError", "IndexError"], "", tensors[0].to_sparse(), tensors[1].to_sparse(), tensors[2])


def arrays(trial: Trial, shapes: Sequence[Sequence[int]], places: Sequence[int], message: str = "Tensor") -> None:
    """A NumPy array in one of the ``places`` raises TypeError where tensors of these shapes are asked for."""
    values = [trial.random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    for place in places:
        given = [one if number == place else trial.tensor(one) for number, one in enumerate(values)]
        trial.raises(["TypeError"], message, *given)


def out_and_gradients(trial: Trial, args: Sequence[Any], shape: Sequence[int], input: bool) -> None:
    """With out=, an output that wants a gradient, and if asked for an ``input`` that wants one, raises an error."""
    for place in ("output", *(["input"] if input else [])):
        given, _ = on_device(trial, args)
        out = trial.tensor(trial.random(*shape, seed=9))
        (out if place == "output" else next(iter(tree.leaves(given)))).requires_grad_()
        before = trial.numpy(out.detach()).copy()
        trial.raises(["RuntimeError"], "automatic differentiation", *given, out=out)
        trial.exact(out.detach(), before)


def shared_out(trial: Trial, dtype: str, in_place: bool) -> None:
    """An output whose elements share memory, and one that overlaps a part of the input, raise an error."""
    whole = trial.tensor(trial.random(9, dtype=dtype, seed=1, low=1, high=9), dtype)
    before = trial.numpy(whole).copy()
    trial.raises(["RuntimeError"], "single memory location", whole[:5], out=whole[6:7].expand(5))
    if in_place:
        trial.raises(["RuntimeError"], "single memory location", whole[:5], out=whole[1:6])
    trial.exact(whole, before)
