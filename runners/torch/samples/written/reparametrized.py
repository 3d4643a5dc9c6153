"""Parameters that are computed from others: norms of weights, pruning, parametrizations, fused layers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
import torch.nn.utils.parametrize
import torch.nn.utils.prune

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_W = t(4, 3)


def table(call: Call) -> None:
    _norms(call)
    _pruning(call)
    _parametrize(call)
    _fused(call)


def _linear(weight: torch.Tensor) -> torch.nn.Linear:
    made = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype, device=weight.device)
    with torch.no_grad():
        made.weight.copy_(weight)
    return made


def _quiet(body: Any) -> Any:
    def quiet(f: Any, *args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return body(f, *args)

    return quiet


def _norms(call: Call) -> None:
    u = "torch.nn.utils."
    old = torch.nn.utils
    weight = {"expect": lambda w: w}
    call(f"{u}weight_norm", _quiet(lambda f, w: f(_linear(w)).weight.detach()), _W, **weight)
    call(
        f"{u}weight_norm",
        _quiet(lambda f, w: f(_linear(w)).weight_g.detach()),
        _W,
        expect=lambda w: np.linalg.norm(w, axis=1)[:, None],
    )
    call(f"{u}remove_weight_norm", _quiet(lambda f, w: f(old.weight_norm(_linear(w))).weight.detach()), _W, **weight)
    call(f"{u}weight_norm.WeightNorm", lambda f: f("weight", 0).dim, expect=0)
    call(f"{u}spectral_norm", lambda f, w: list(f(_linear(w)).weight_u.shape), _W, expect=[4])
    call(f"{u}remove_spectral_norm", lambda f, w: f(old.spectral_norm(_linear(w)))(w).shape[1], _W, expect=4)
    for name in ("SpectralNormStateDictHook", "SpectralNormLoadStateDictPreHook"):
        call(f"{u}spectral_norm.{name}", lambda f: f(5).fn, expect=5)
    call(f"{u}spectral_norm.SpectralNorm", lambda f: f().n_power_iterations, expect=1)
    p = f"{u}parametrizations."
    call(f"{p}weight_norm", lambda f, w: f(_linear(w)).weight.detach(), _W, **weight)
    call(f"{p}orthogonal", lambda f, w: _gram(f(_linear(w)).weight.detach()), _W, expect=np.eye(3))
    call(
        f"{p}spectral_norm",
        lambda f, w: f(_linear(w), n_power_iterations=100).eval().weight.detach(),
        _W,
        expect=lambda w: w / np.linalg.norm(w, 2),
    )
    call(f"{u}skip_init", lambda f, d: list(f(torch.nn.Linear, 3, 4, device=d).weight.shape), "cpu", expect=[4, 3])
    for name, kind in (("conv2d", torch.nn.Conv2d), ("conv3d", torch.nn.Conv3d)):
        memory = torch.channels_last if name == "conv2d" else torch.channels_last_3d

        def converted(f: Any, kind: Any = kind, memory: Any = memory) -> bool:
            return f(kind(3, 2, 2), memory).weight.is_contiguous(memory_format=memory)  # type: ignore[no-any-return]

        call(f"{u}convert_{name}_weight_memory_format", converted, expect=True)


def _gram(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.T @ matrix


def _pruning(call: Call) -> None:
    p = "torch.nn.utils.prune."
    prune = torch.nn.utils.prune
    mask = of([1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    half = {"expect": lambda w: np.where(abs(w) > np.sort(abs(w).ravel())[5], w, 0)}
    call(f"{p}l1_unstructured", lambda f, w: f(_linear(w), "weight", 6).weight.detach(), _W, **half)
    call(f"{p}L1Unstructured", lambda f, w: f(6).prune(w), _W, **half)
    rows = {"expect": lambda w: np.where(np.isin(range(4), np.argsort(np.linalg.norm(w, axis=1))[:2])[:, None], 0, w)}
    call(f"{p}ln_structured", lambda f, w: f(_linear(w), "weight", 2, 2, 0).weight.detach(), _W, **rows)
    call(f"{p}LnStructured", lambda f, w: f(2, 2, 0).prune(w), _W, **rows)
    call(f"{p}random_unstructured", lambda f, w: int((f(_linear(w), "weight", 6).weight == 0).sum()), _W, expect=6)
    call(f"{p}RandomUnstructured", lambda f, w: int((f(6).prune(w) == 0).sum()), _W, expect=6)
    call(f"{p}random_structured", lambda f, w: int((f(_linear(w), "weight", 2, 0).weight == 0).sum()), _W, expect=6)
    call(f"{p}RandomStructured", lambda f, w: int((f(2, 0).prune(w) == 0).sum()), _W, expect=6)
    call(
        f"{p}custom_from_mask",
        lambda f, w, m: f(_linear(w), "weight", m).weight.detach(),
        _W,
        mask,
        expect=lambda w, m: w * m,
    )
    call(f"{p}CustomFromMask", lambda f, w, m: f(m).prune(w), _W, mask, expect=lambda w, m: w * m)
    call(f"{p}identity", lambda f, w: f(_linear(w), "weight").weight.detach(), _W, expect=lambda w: w)
    call(f"{p}Identity", lambda f, w: f().prune(w), _W, expect=lambda w: w)
    call(f"{p}global_unstructured", _global, _W, **half)
    call(
        f"{p}is_pruned", lambda f, w: [f(_linear(w)), f(prune.identity(_linear(w), "weight"))], _W, expect=[False, True]
    )
    call(
        f"{p}remove",
        lambda f, w: f(prune.l1_unstructured(_linear(w), "weight", 6), "weight").weight.detach(),
        _W,
        **half,
    )
    call(f"{p}PruningContainer", lambda f: len(f()), expect=0)


def _global(f: Any, w: torch.Tensor) -> Any:
    made = _linear(w)
    f([(made, "weight")], pruning_method=torch.nn.utils.prune.L1Unstructured, amount=6)
    return made.weight.detach()


class _Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


def _parametrize(call: Call) -> None:
    p = "torch.nn.utils.parametrize."
    parametrize = torch.nn.utils.parametrize

    def doubled(w: torch.Tensor) -> Any:
        return parametrize.register_parametrization(_linear(w), "weight", _Doubled())

    twice = {"expect": lambda w: 2 * w}
    call(f"{p}register_parametrization", lambda f, w: f(_linear(w), "weight", _Doubled()).weight.detach(), _W, **twice)
    call(f"{p}remove_parametrizations", lambda f, w: f(doubled(w), "weight").weight.detach(), _W, **twice)
    call(f"{p}is_parametrized", lambda f, w: [f(_linear(w)), f(doubled(w), "weight")], _W, expect=[False, True])
    call(f"{p}cached", _cached, _W, expect=True)
    call(f"{p}type_before_parametrizations", lambda f, w: f(doubled(w)) is torch.nn.Linear, _W, expect=True)
    call(
        f"{p}transfer_parametrizations_and_params", lambda f, w: f(doubled(w), _linear(w)).weight.detach(), _W, **twice
    )
    call(f"{p}ParametrizationList", lambda f, w: f([_Doubled()], torch.nn.Parameter(w))().detach(), _W, **twice)


def _cached(f: Any, w: torch.Tensor) -> bool:
    made = torch.nn.utils.parametrize.register_parametrization(_linear(w), "weight", _Doubled())
    with f():
        return made.weight is made.weight


def _fused(call: Call) -> None:
    u, x = "torch.nn.utils.", t(5, 3, 4, 4)

    def norm(kind: Any, like: torch.Tensor) -> Any:
        made = kind(2).to(like.device, like.dtype).eval()
        made.running_mean.fill_(0.5)
        made.running_var.fill_(2.0)
        return made

    def convolution(f: Any, x: torch.Tensor) -> Any:
        torch.manual_seed(1)
        layer, after = torch.nn.Conv2d(3, 2, 3).to(x.device).to(x.dtype).eval(), norm(torch.nn.BatchNorm2d, x)
        return torch.allclose(f(layer, after)(x), after(layer(x)), atol=1e-5)

    def linear(f: Any, x: torch.Tensor) -> Any:
        torch.manual_seed(1)
        layer, after = torch.nn.Linear(3, 2).to(x.device).to(x.dtype).eval(), norm(torch.nn.BatchNorm1d, x)
        return torch.allclose(f(layer, after)(x), after(layer(x)), atol=1e-5)

    call(f"{u}fuse_conv_bn_eval", convolution, x, expect=True)
    call(f"{u}fuse_linear_bn_eval", linear, t(5, 3), expect=True)
    weights = t(2, 3), t(2), t(2, seed=1), t(2, low=0.5, high=2.0), t(2, seed=2), t(2, seed=3)

    def folded(w: Any, b: Any, m: Any, v: Any, g: Any, s: Any) -> Any:
        factor = g / np.sqrt(v + 1e-5)
        return [w * factor.reshape(-1, *[1] * (w.ndim - 1)), (b - m) * factor + s]

    call(
        f"{u}fuse_linear_bn_weights", lambda f, w, b, m, v, g, s: [*f(w, b, m, v, 1e-5, g, s)], *weights, expect=folded
    )
    kernel = (t(2, 3, 2, 2), *weights[1:])
    call(f"{u}fuse_conv_bn_weights", lambda f, w, b, m, v, g, s: [*f(w, b, m, v, 1e-5, g, s)], *kernel, expect=folded)
