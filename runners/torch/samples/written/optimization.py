"""Averages of weights, functional optimizers, gradients that are clipped, hooks of optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import t


def table(call: Call) -> None:
    _averages(call)
    _functional(call)
    _clipping(call)
    _others(call)


def _averages(call: Call) -> None:
    u = "torch.optim.swa_utils."
    first, second = t(3), t(3, seed=1)
    call(f"{u}get_ema_avg_fn", lambda f, x, y: f(0.9)(x, y, 1), first, second, expect=lambda x, y: 0.9 * x + 0.1 * y)
    call(f"{u}get_swa_avg_fn", lambda f, x, y: f()(x, y, 2), first, second, expect=lambda x, y: x + (y - x) / 3)
    call(
        f"{u}get_ema_multi_avg_fn",
        lambda f, x, y: _averaged(f(0.9), x, y, 1),
        first,
        second,
        expect=lambda x, y: 0.9 * x + 0.1 * y,
    )
    call(
        f"{u}get_swa_multi_avg_fn",
        lambda f, x, y: _averaged(f(), x, y, 2),
        first,
        second,
        expect=lambda x, y: x + (y - x) / 3,
    )
    call(f"{u}AveragedModel", _averaged_model, t(2, 3), t(2, 3, seed=1), expect=lambda x, y: (x + y) / 2)
    call(f"{u}update_bn", _updated, t(8, 3), expect=lambda x: x.mean(0))


def _averaged(average: Any, x: torch.Tensor, y: torch.Tensor, count: int) -> Any:
    kept = [x.clone()]
    average(kept, [y], torch.tensor(count, device=x.device))
    return kept[0]


def _averaged_model(f: Any, *weights: torch.Tensor) -> Any:
    model = torch.nn.Linear(3, 2, bias=False, dtype=weights[0].dtype, device=weights[0].device)
    averaged = f(model)
    for weight in weights:
        with torch.no_grad():
            model.weight.copy_(weight)
        averaged.update_parameters(model)
    return averaged.module.weight.detach()


def _updated(f: Any, x: torch.Tensor) -> Any:
    model = torch.nn.BatchNorm1d(3, dtype=x.dtype, device=x.device)
    f([x], model)
    return model.running_mean


def _functional(call: Call) -> None:
    """Functional optimizers, one step of each, against the classes' own rule on the CPU."""
    x, g = t(3), t(3, seed=1)

    def one(name: str, body: Any, expect: Any = None) -> None:
        home = name if name != "muon" else "_muon"
        call(f"torch.optim.{home}.{name}", lambda f, x, g: _stepped(f, body, x, g), x, g, expect=expect)

    one("sgd", lambda f, p, g: f(p, g, [None], **{**_SGD, "lr": 0.1}), lambda x, g: x - 0.1 * g)
    one(
        "adagrad",
        lambda f, p, g: f(
            p, g, [_zero(p)], [_step()], lr=0.1, weight_decay=0.0, lr_decay=0.0, eps=1e-10, maximize=False
        ),
        lambda x, g: x - 0.1 * g / (abs(g) + 1e-10),
    )
    one(
        "rprop",
        lambda f, p, g: f(
            p,
            g,
            [_zero(p)],
            [_zero(p) + 0.1],
            [_step()],
            step_size_min=0.01,
            step_size_max=1.0,
            etaminus=0.5,
            etaplus=1.2,
            maximize=False,
        ),
        lambda x, g: x - 0.1 * np.sign(g),
    )
    one(
        "rmsprop",
        lambda f, p, g: f(
            p,
            g,
            [_zero(p)],
            [],
            [],
            [_step()],
            lr=0.1,
            alpha=0.9,
            eps=1e-8,
            weight_decay=0,
            momentum=0,
            centered=False,
            maximize=False,
        ),
        lambda x, g: x - 0.1 * g / (np.sqrt(0.1) * abs(g) + 1e-8),
    )
    one(
        "adadelta",
        lambda f, p, g: f(
            p, g, [_zero(p)], [_zero(p)], [_step()], lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False
        ),
        lambda x, g: x - np.sqrt(1e-6) / np.sqrt(0.1 * g**2 + 1e-6) * g,
    )
    beta = {"beta1": 0.9, "beta2": 0.999, "lr": 0.1, "eps": 1e-8, "weight_decay": 0.0}
    for name in ("adam", "adamw"):
        one(
            name,
            lambda f, p, g: f(p, g, [_zero(p)], [_zero(p)], [], [_step()], amsgrad=False, maximize=False, **beta),
            lambda x, g: x - 0.1 * g / (abs(g) + 1e-8),
        )
    one(
        "adamax",
        lambda f, p, g: f(p, g, [_zero(p)], [_zero(p)], [_step()], maximize=False, **beta),
        lambda x, g: x - 0.1 * g / (abs(g) + 1e-8),
    )
    one(
        "nadam",
        lambda f, p, g: f(p, g, [_zero(p)], [_zero(p)], [torch.ones(())], [_step()], momentum_decay=0.004, **beta),
    )
    one(
        "radam",
        lambda f, p, g: f(p, g, [_zero(p)], [_zero(p)], [_step()], maximize=False, **beta),
        lambda x, g: x - 0.1 * g,
    )
    one(
        "asgd",
        lambda f, p, g: f(
            p,
            g,
            [_zero(p)],
            [torch.ones(())],
            [torch.tensor(0.1)],
            [_step()],
            lambd=0.0,
            lr=0.1,
            t0=1e6,
            alpha=0.75,
            weight_decay=0,
            maximize=False,
        ),
        lambda x, g: x - 0.1 * g,
    )


_SGD = {"weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}


def _zero(parameters: Any) -> Any:
    return torch.zeros_like(parameters[0])


def _step() -> Any:
    return torch.zeros(())


def _stepped(f: Any, body: Any, x: torch.Tensor, g: torch.Tensor) -> Any:
    parameter = x.detach().clone()
    with torch.no_grad():
        body(f, [parameter], [g])
    return parameter


def _clipping(call: Call) -> None:
    u = "torch.nn.utils."
    x = t(4, low=1, high=3)
    clipped = {"expect": lambda x: x / (np.linalg.norm(x) + 1e-6)}
    for name in ("clip_grad_norm_", "clip_grad_norm"):
        call(f"{u}{name}", lambda f, x: _with_gradient(x, lambda p: f([p], 1.0)), x, **clipped)
    call(f"{u}clip_grads_with_norm_", lambda f, x: _with_gradient(x, lambda p: f([p], 1.0, x.norm())), x, **clipped)
    call(
        f"{u}clip_grad_value_",
        lambda f, x: _with_gradient(x, lambda p: f([p], 1.5)),
        x,
        expect=lambda x: np.minimum(x, 1.5),
    )
    call(f"{u}get_total_norm", lambda f, x: f([x, 2 * x]), x, expect=lambda x: np.sqrt(5) * np.linalg.norm(x))
    call(f"{u}parameters_to_vector", lambda f, x: f([x, x.reshape(2, 2)]), x, expect=lambda x: np.r_[x, x])
    call(f"{u}vector_to_parameters", _from_vector, x, expect=lambda x: x.reshape(2, 2))


def _with_gradient(x: torch.Tensor, clip: Any) -> Any:
    parameter = torch.nn.Parameter(torch.zeros_like(x))
    parameter.grad = x.clone()
    clip(parameter)
    return parameter.grad


def _from_vector(f: Any, x: torch.Tensor) -> Any:
    parameter = torch.nn.Parameter(torch.zeros(2, 2, dtype=x.dtype, device=x.device))
    f(x, [parameter])
    return parameter.detach()


def _others(call: Call) -> None:
    for name in ("pre", "post"):
        call(f"torch.optim.optimizer.register_optimizer_step_{name}_hook", _noted, expect=1)
    call(
        "torch.optim.Optimizer",
        lambda f: len(f([torch.nn.Parameter(torch.ones(1))], {"lr": 1.0}).param_groups),
        expect=1,
    )


def _noted(f: Any) -> int:
    noted: list[Any] = []
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    handle = f(lambda *args: noted.append(args) or None)
    optimizer.step()
    handle.remove()
    optimizer.step()
    return len(noted)
