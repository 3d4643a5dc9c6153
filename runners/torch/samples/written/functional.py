"""Functions of torch and torch.nn.functional with arguments of their own, which OpInfo does not call by these names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.attention

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_IMAGE = t(2, 4, 6, 6)


def table(call: Call) -> None:
    _pooling(call)
    _convolutions(call)
    _normalization(call)
    _losses(call)
    _others(call)
    _attention(call)


def _pooling(call: Call) -> None:
    for dimensions, image in ((1, t(2, 3, 8)), (2, _IMAGE), (3, t(1, 2, 4, 4, 4))):
        d = f"{dimensions}d"
        for name in ("max_pool", "adaptive_max_pool"):
            call(f"torch.nn.functional.{name}{d}_with_indices", lambda f, x: [*f(x, 2)], image)
        call(f"torch.nn.functional.lp_pool{d}", lambda f, x: f(x, 2.0, 2), image.abs() + 0.1, gradient=True)
    call("torch.max_pool1d", None, t(2, 3, 8), 2, expect=lambda x, n: x.reshape(2, 3, 4, 2).max(-1), gradient=True)
    call(
        "torch.max_pool2d", None, _IMAGE, 2, expect=lambda x, n: x.reshape(2, 4, 3, 2, 3, 2).max((3, 5)), gradient=True
    )
    call("torch.max_pool3d", None, t(1, 1, 2, 2, 2), 2, expect=lambda x, n: x.max().reshape(1, 1, 1, 1, 1))
    call("torch.max_pool1d_with_indices", lambda f, x: [*f(x, 2)], t(2, 3, 8))
    call("torch.adaptive_max_pool1d", lambda f, x: [*f(x, 2)], t(2, 3, 8))
    for name, size in (("fractional_max_pool2d", (2, 2)), ("fractional_max_pool3d", (2, 2, 2))):
        image = t(1, 2, *([6] * len(size)))
        samples = t(1, 2, len(size), low=0, seed=3)
        call(f"torch.nn.functional.{name}", lambda f, x, s, n=size: f(x, 2, n, _random_samples=s), image, samples)
        full = f"torch.nn.functional.{name}_with_indices"
        call(full, lambda f, x, s, n=size: [*f(x, 2, n, _random_samples=s)], image, samples)


def _convolutions(call: Call) -> None:
    weight = t(3, 4, 3, 3, seed=1)
    call(
        "torch.convolution",
        lambda f, x, w: f(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1),
        _IMAGE,
        weight,
        gradient=True,
    )
    call("torch.conv_tbc", None, t(6, 2, 4), t(3, 4, 5, seed=1), t(5, seed=2), gradient=True)
    for dimensions in (1, 2, 3):
        shape, name = (5, 4, 4)[:dimensions], f"conv{dimensions}d"
        image, weight = t(2, 3, *shape), t(4, 3, *([2] * dimensions), seed=1)
        given = getattr(torch, name)(image, weight)
        call(f"torch.nn.grad.{name}_input", lambda f, x, w, g: f(x.shape, w, g), image, weight, given)
        call(f"torch.nn.grad.{name}_weight", lambda f, x, w, g: f(x, w.shape, g), image, weight, given)


def _normalization(call: Call) -> None:
    mean, spread, weight, bias = t(4), t(4, low=0.5, high=2.0), t(4, seed=2), t(4, seed=3)

    def normal(x: Any, m: Any, v: Any, w: Any, b: Any) -> Any:
        m, v, w, b = (each[:, None, None] for each in (m, v, w, b))
        return (x - m) / np.sqrt(v + 1e-5) * w + b

    inputs = (_IMAGE, mean, spread, weight, bias)
    call("torch.batch_norm", lambda f, x, m, v, w, b: f(x, w, b, m, v, False, 0.1, 1e-5, False), *inputs, expect=normal)
    call("torch.instance_norm", lambda f, x, m, v, w, b: f(x, w, b, None, None, True, 0.1, 1e-5, False), *inputs)
    call("torch.native_group_norm", lambda f, x, m, v, w, b: [*f(x, w, b, 2, 4, 36, 2, 1e-5)], *inputs)
    call("torch.frobenius_norm", lambda f, x: f(x, [0, 1]), t(3, 4), expect=np.linalg.norm)
    call("torch.nuclear_norm", None, t(3, 4), expect=lambda x: np.linalg.norm(x, "nuc"), gradient=True)


def _losses(call: Call) -> None:
    row, other, sign = t(4), t(4, seed=1), of(1.0, -1.0, 1.0, -1.0)
    call(
        "torch.margin_ranking_loss",
        None,
        row,
        other,
        sign,
        0.1,
        1,
        expect=lambda x, y, s, m, r: np.maximum(-s * (x - y) + m, 0).mean(),
    )
    call(
        "torch.hinge_embedding_loss",
        None,
        row,
        sign,
        1.0,
        1,
        expect=lambda x, s, m, r: np.where(s > 0, x, np.maximum(1 - x, 0)).mean(),
    )
    call("torch.kl_div", None, row, other.abs(), 0, expect=lambda x, y, r: y * (np.log(y) - x))
    call(
        "torch.poisson_nll_loss",
        lambda f, x, y: f(x, y, True, False, 1e-8, 0),
        row,
        other.abs(),
        expect=lambda x, y: np.exp(x) - y * x,
    )
    call(
        "torch.binary_cross_entropy_with_logits",
        lambda f, x, y: f(x, y, None, None, 1),
        row,
        other.abs(),
        expect=lambda x, y: (np.maximum(x, 0) - x * y + np.log1p(np.exp(-abs(x)))).mean(),
    )
    pair = t(3, 4), t(3, 4, seed=1)
    call(
        "torch.cosine_embedding_loss",
        lambda f, x, y, s: f(x, y, s, 0.0, 1),
        *pair,
        of(1.0, 1.0, 1.0),
        expect=lambda x, y, s: (1 - (x * y).sum(1) / np.sqrt((x**2).sum(1) * (y**2).sum(1))).mean(),
    )
    call("torch.triplet_margin_loss", None, *pair, t(3, 4, seed=2), gradient=True)
    log = t(5, 2, 4).log_softmax(2)
    call("torch.ctc_loss", lambda f, x, y: f(x, y, [5, 5], [2, 1]), log, of([1, 2], [3, 1]), gradient=True)


def _others(call: Call) -> None:
    f = "torch.nn.functional."
    call(f"{f}affine_grid", lambda f, x: f(x, [1, 1, 2, 3], align_corners=True), t(1, 2, 3), gradient=True)
    call("torch.affine_grid_generator", lambda f, x: f(x, [1, 1, 2, 3], True), t(1, 2, 3), gradient=True)
    call("torch.grid_sampler", lambda f, x, g: f(x, g, 0, 0, True), _IMAGE, t(2, 3, 3, 2, seed=1), gradient=True)
    call(f"{f}fold", lambda f, x: f(x, (4, 4), (2, 2), stride=2), t(2, 12, 4), gradient=True)
    call(f"{f}upsample", lambda f, x: f(x, scale_factor=2), _IMAGE, expect=lambda x: x.repeat(2, 2).repeat(2, 3))
    call(
        f"{f}gumbel_softmax",
        lambda f, x: [(f(x, hard=True) == 1).sum(-1), f(x).sum(-1)],
        t(6, 4),
        expect=[np.ones(6), np.ones(6)],
    )
    for name in ("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        x = t(3, 4, *([2] * int(name[-2] if name.startswith("dropout") else 1)))
        call(f"{f}{name}", lambda f, x: f(x, 0.5, training=False), x, expect=lambda x: x)
        call(f"{f}{name}", lambda f, x: f(x, 0.0, training=True), x, expect=lambda x: x)
    for name, settings, expect in (
        ("elu_", (0.5,), lambda x, a: np.where(x > 0, x, a * np.expm1(x))),
        ("hardtanh_", (-0.5, 0.5), lambda x, a, b: np.clip(x, a, b)),
        ("leaky_relu_", (0.1,), lambda x, a: np.where(x > 0, x, a * x)),
    ):
        call(f"{f}{name}", lambda f, x, *a: f(x.clone(), *a), t(3, 4), *settings, expect=expect)
    call(
        "torch.celu_",
        lambda f, x: f(x.clone(), 0.5),
        t(4),
        expect=lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5)),
    )
    call(
        "torch.selu_",
        lambda f, x: f(x.clone()),
        t(4),
        expect=lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    )
    call("torch.relu_", lambda f, x: f(x.clone()), t(4), expect=lambda x: np.maximum(x, 0))
    call("torch.rrelu_", lambda f, x: f(x.clone(), 0.2, 0.4, False), t(4), expect=lambda x: np.where(x > 0, x, 0.3 * x))
    call("torch.threshold_", lambda f, x: f(x.clone(), 0.1, 9.0), t(4), expect=lambda x: np.where(x > 0.1, x, 9))
    call("torch.threshold", None, t(4), 0.1, 9.0, expect=lambda x, a, b: np.where(x > a, x, b))
    index, weight = of([0, 2], [4, 1]), t(5, 3)
    call("torch.embedding", None, weight, index, expect=lambda w, i: w[i], gradient=True)
    call(
        "torch.embedding_bag",
        lambda f, w, i: f(w, i.reshape(-1), i[0])[0],
        weight,
        index,
        expect=lambda w, i: np.stack([w[0] + w[2], w[4] + w[1]]),
    )
    call(
        "torch.embedding_renorm_",
        lambda f, w, i: f(w.clone() * 9, i.reshape(-1), 1.0, 2.0).norm(dim=1)[[0, 1, 2, 4]],
        weight,
        index,
        expect=np.ones(4),
    )
    call("torch.native_channel_shuffle", None, _IMAGE, 2, expect=lambda x, n: x[:, [0, 2, 1, 3]])
    call(
        "torch.lobpcg",
        lambda f, x: f(x @ x.mT + torch.eye(12, dtype=x.dtype, device=x.device), 2)[0],
        t(12, 12),
        expect=lambda x: np.linalg.eigvalsh(x @ x.T + np.eye(12))[:-3:-1],
    )
    low = t(6, 2) @ t(2, 5, seed=1)
    call("torch.functional.svd_lowrank", lambda f, x: f(x, 3)[1][:2], low, expect=lambda x: np.linalg.svd(x)[1][:2])
    call(
        "torch.functional.pca_lowrank",
        lambda f, x: f(x, 3, center=False)[1][:2],
        low,
        expect=lambda x: np.linalg.svd(x)[1][:2],
    )
    call("torch.chain_matmul", None, t(2, 3), t(3, 4), t(4, 2), expect=lambda a, b, c: a @ b @ c)
    call(
        "torch.quasirandom.SobolEngine",
        lambda f: f(2).draw(4),
        expect=np.array([[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]),
    )
    call("torch.compile", lambda f, x: f(lambda y: 2 * y, backend="eager")(x), t(3), expect=lambda x: 2 * x)


def _attention(call: Call) -> None:
    n = "torch.nn.attention."
    query, key, value = t(2, 3, 4), t(2, 5, 4, seed=1), t(2, 5, 6, seed=2)
    call("torch.nn.functional.scaled_dot_product_attention", None, query, key, value, expect=_attended, gradient=True)
    call(f"{n}sdpa_kernel", _with_math, query, key, value, expect=_attended)
    for name, offset in (("causal_upper_left", 0), ("causal_lower_right", 2)):
        call(f"{n}bias.{name}", lambda f: f(3, 5)._materialize(), expect=np.tri(3, 5, offset) == 1)
    call(f"{n}bias.CausalVariant", lambda f: int(f(1)), expect=1)
    flex = f"{n}flex_attention."

    def causal(batch: Any, head: Any, row: Any, column: Any) -> Any:
        return row >= column

    call(f"{flex}create_mask", lambda f: f(causal, 1, 1, 4, 4, device="cpu")[0, 0], expect=np.tri(4) == 1)
    call(
        f"{flex}create_block_mask",
        lambda f: list(f(causal, 1, 1, 256, 256, device="cpu").shape),
        expect=[1, 1, 256, 256],
    )
    zero = torch.zeros((), dtype=torch.int64)
    for name, expected in (("and_masks", False), ("or_masks", True)):
        call(f"{flex}{name}", lambda f, i: f(causal, lambda b, h, q, k: q > k)(i, i, i, i), zero, expect=expected)
    call(f"{flex}noop_mask", lambda f, i: f(i, i, i, i), zero, expect=True)
    call("torch.nn.functional.multi_head_attention_forward", _heads, t(3, 2, 4), t(12, 4, seed=1), t(4, 4, seed=2))


def _attended(q: Any, k: Any, v: Any) -> Any:
    scores = np.exp(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    return scores / scores.sum(-1, keepdims=True) @ v


def _with_math(f: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    with f([torch.nn.attention.SDPBackend.MATH]):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def _heads(f: Any, x: torch.Tensor, inner: torch.Tensor, outer: torch.Tensor) -> Any:
    return [*f(x, x, x, 4, 2, inner, None, None, None, False, 0.0, outer, None, training=False)]
