"""Modules that ModuleInfo lacks, containers, parameters, and hooks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_IMAGE = t(2, 4, 6, 6)


def table(call: Call) -> None:
    _layers(call)
    _without_parameters(call)
    _containers(call)
    _parameters(call)
    _hooks(call)


def _same(f: Any, *arguments: Any, **settings: Any) -> Any:
    torch.manual_seed(5)
    return f(*arguments, **settings)


def _made(*arguments: Any, **settings: Any) -> Any:
    """A body that makes a module of these arguments and calls it: on the device and in the dtype of its first input."""

    def body(f: Any, *inputs: torch.Tensor) -> Any:
        module = _same(f, *arguments, **settings).to(inputs[0].device)
        return (module.double() if inputs[0].dtype == torch.float64 else module)(*inputs)

    return body


def _layers(call: Call) -> None:
    """Against the CPU: modules with parameters."""
    for dimensions in (1, 2, 3):
        image = t(2, 3, *([4] * dimensions))
        for name in ("BatchNorm", "InstanceNorm"):
            call(f"torch.nn.Lazy{name}{dimensions}d", _made(), image, gradient=True)
    call("torch.nn.LazyLinear", _made(2), t(3, 4), gradient=True)
    call(
        "torch.nn.EmbeddingBag",
        lambda f, i, w: f(5, 3, _weight=w)(i),
        of([0, 2], [4, 4]),
        t(5, 3),
        expect=lambda i, w: w[i].mean(1),
    )
    call("torch.nn.AdaptiveLogSoftmaxWithLoss", lambda f, x, y: [*_made(4, 6, [2, 4])(f, x, y)], t(3, 4), of(0, 3, 5))
    layer = torch.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    call("torch.nn.TransformerDecoder", _of_layers(layer), t(2, 3, 4), t(2, 5, 4))
    call("torch.nn.CrossMapLRN2d", _made(3), _IMAGE)
    call("torch.nn.RNNBase", lambda f: list(f("LSTM", 3, 4).weight_hh_l0.shape), expect=[16, 4])
    call("torch.nn.RNNCellBase", lambda f: list(f(3, 4, bias=True, num_chunks=2).weight_hh.shape), expect=[8, 4])


def _of_layers(layer: torch.nn.Module) -> Any:
    def body(f: Any, target: torch.Tensor, memory: torch.Tensor) -> Any:
        module = f(layer, 2).to(target.device)
        return (module.double() if target.dtype == torch.float64 else module)(target, memory)

    return body


def _without_parameters(call: Call) -> None:
    def named(name: str, body: Any, *inputs: Any, expect: Any = None) -> None:
        call(f"torch.nn.{name}", body, *inputs, expect=expect, gradient=True)

    row, other, third = t(3, 4), t(3, 4, seed=1), t(3, 4, seed=2)
    named("Identity", _made(), row, expect=lambda x: x)
    named("Flatten", _made(), _IMAGE, expect=lambda x: x.reshape(2, -1))
    named("Unflatten", _made(1, (2, 2)), row, expect=lambda x: x.reshape(3, 2, 2))
    named("Hardsigmoid", _made(), row, expect=lambda x: np.clip(x / 6 + 0.5, 0, 1))
    named(
        "CosineSimilarity",
        _made(),
        row,
        other,
        expect=lambda x, y: (x * y).sum(1) / np.sqrt((x**2).sum(1) * (y**2).sum(1)),
    )
    named("PairwiseDistance", _made(), row, other, expect=lambda x, y: np.linalg.norm(x - y + 1e-6, axis=1))
    named("ChannelShuffle", _made(2), _IMAGE, expect=lambda x: x[:, [0, 2, 1, 3]])
    named("PixelShuffle", _made(2), _IMAGE, expect=_shuffled)
    named("PixelUnshuffle", _made(2), t(2, 1, 4, 4))
    named("Fold", _made((4, 4), (2, 2), stride=2), t(2, 12, 4))
    named("Unfold", _made((2, 2), stride=2), _IMAGE)
    for name, settings in (("Upsample", {"scale_factor": 2}), ("UpsamplingNearest2d", {"scale_factor": 2})):
        named(name, _made(**settings), _IMAGE, expect=lambda x: x.repeat(2, 2).repeat(2, 3))
    named("UpsamplingBilinear2d", _made(scale_factor=2), _IMAGE)
    triplet = {"expect": lambda a, p, n: np.maximum(_distance(a, p) - _distance(a, n) + 1, 0).mean()}
    for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
        named(name, _made(), row, other, third, **triplet)
    named("NLLLoss2d", _quiet(_made()), _IMAGE, torch.arange(72).reshape(2, 6, 6) % 4)
    for dimensions, shape in ((1, (6,)), (2, (4, 4)), (3, (4, 4, 4))):
        named(f"MaxUnpool{dimensions}d", _unpooled(dimensions), t(1, 2, *shape))
    for name, shape in (
        ("Dropout", (8, 8)),
        ("Dropout1d", (8, 8)),
        ("Dropout2d", (8, 8, 2, 2)),
        ("AlphaDropout", (8, 8)),
        ("FeatureAlphaDropout", (8, 8, 2, 2)),
    ):
        call(f"torch.nn.{name}", lambda f, x: f(0.5).eval()(x), t(*shape), expect=lambda x: x)
        call(f"torch.nn.{name}", lambda f, x: f(0.0)(x), t(*shape), expect=lambda x: x)
    call("torch.nn.Dropout", lambda f, x: _halved(f(0.5)(x)), torch.ones(100, 100), expect=[True, True])
    call("torch.nn.RReLU", lambda f, x: f(0.2, 0.4).eval()(x), row, expect=lambda x: np.where(x > 0, x, 0.3 * x))


def _shuffled(x: Any) -> Any:
    return x.reshape(2, 1, 2, 2, 6, 6).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 12, 12)


def _distance(first: Any, second: Any) -> Any:
    return np.linalg.norm(first - second + 1e-6, axis=1)


def _quiet(body: Any) -> Any:
    def quiet(f: Any, *inputs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return body(f, *inputs)

    return quiet


def _unpooled(dimensions: int) -> Any:
    pool = getattr(torch.nn.functional, f"max_pool{dimensions}d")

    def body(f: Any, x: torch.Tensor) -> Any:
        pooled, places = pool(x, 2, return_indices=True)
        return f(2)(pooled, places)

    return body


def _halved(dropped: torch.Tensor) -> Any:
    """What is left is doubled; of 10,000 a share of a half within five standard errors (a false alarm in 1e6)."""
    left = dropped[dropped != 0]
    return [bool((left == 2).all()), abs(left.numel() / 1e4 - 0.5) < 0.025]


def _containers(call: Call) -> None:
    linear, relu = torch.nn.Linear(3, 3), torch.nn.ReLU()
    call("torch.nn.Module", lambda f: _filled(f()), expect=[1, True])
    call("torch.nn.ModuleList", lambda f: [len(f([linear, relu])), f([linear, relu])[1] is relu], expect=[2, True])
    call(
        "torch.nn.ModuleDict",
        lambda f: [list(f({"a": linear, "b": relu})) == ["a", "b"], f({"a": relu})["a"] is relu],
        expect=[True, True],
    )
    call("torch.nn.ParameterList", lambda f, x: f([x, x])[1], t(2), expect=lambda x: x)
    call("torch.nn.ParameterDict", lambda f, x: f({"a": x})["a"], t(2), expect=lambda x: x)
    call("torch.nn.Container", lambda f: _quiet(lambda f: len(list(f(a=relu).children())))(f), expect=1)
    call("torch.nn.factory_kwargs", lambda f: f({"dtype": torch.float64})["dtype"] == torch.float64, expect=True)
    name = "torch.nn.modules.utils.consume_prefix_in_state_dict_if_present"
    call(name, lambda f, x: _consumed(f, {"module.a": x}), t(2), expect=lambda x: x)


def _consumed(f: Any, state: Any) -> Any:
    f(state, "module.")
    return state["a"]


def _filled(module: torch.nn.Module) -> Any:
    module.register_parameter("weight", torch.nn.Parameter(torch.ones(2)))
    return [len(list(module.parameters())), module.training]


def _parameters(call: Call) -> None:
    call("torch.nn.Parameter", lambda f, x: [f(x).requires_grad, f(x)], t(2), expect=lambda x: [True, x])
    call("torch.nn.Buffer", lambda f, x: [f(x).requires_grad, f(x)], t(2), expect=lambda x: [False, x])
    for name in ("UninitializedParameter", "UninitializedBuffer"):
        call(f"torch.nn.{name}", _materialized, expect=[True, False, 6])
    call(
        "torch.nn.parameter.is_lazy",
        lambda f, x: [f(x), f(torch.nn.UninitializedParameter())],
        t(2),
        expect=[False, True],
    )


def _materialized(f: Any) -> Any:
    made = f()
    lazy = torch.nn.parameter.is_lazy(made)
    made.materialize((2, 3))
    return [lazy, torch.nn.parameter.is_lazy(made), made.numel()]


def _hooks(call: Call) -> None:
    module = "torch.nn.modules.module.register_module_"
    for name in ("forward", "forward_pre"):
        call(f"{module}{name}_hook", _noted_forward, t(2), expect=1)
    for name in ("full_backward", "full_backward_pre"):
        call(f"{module}{name}_hook", _noted_backward, t(2), expect=1)
    for name in ("buffer", "parameter", "module"):
        call(f"{module}{name}_registration_hook", _noted_registrations, expect=1)


def _noted_forward(f: Any, x: torch.Tensor) -> int:
    noted: list[Any] = []
    handle = f(lambda module, *args: noted.append(module))
    torch.nn.Identity()(x)
    handle.remove()
    torch.nn.Identity()(x)
    return len(noted)


def _noted_backward(f: Any, x: torch.Tensor) -> int:
    noted: list[Any] = []
    handle = f(lambda module, *args: noted.append(module))
    module = torch.nn.Tanh()
    try:
        module(x.detach().clone().requires_grad_()).sum().backward()
    finally:
        handle.remove()
    return len(noted)


def _noted_registrations(f: Any) -> int:
    noted: list[Any] = []
    handle = f(lambda module, name, value: noted.append(name))
    made = torch.nn.Module()
    made.register_buffer("first", torch.ones(1))
    made.register_parameter("second", torch.nn.Parameter(torch.ones(1)))
    made.add_module("third", torch.nn.Identity())
    handle.remove()
    return len(noted)
