"""torch.nn.functional.batch_norm and torch.nn.GroupNorm, compared with NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened, with_special
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

_STATISTICS = ("mean", "var")
_AFFINE = ("weight", "bias")

_LOW_PRECISION = {"bfloat16": {"rtol": 1.6e-2, "atol": 3e-2}}
"""Values, mean and scale are rounded to bfloat16's 8 bits before they are combined: errors of 2**-7 at 2 to 4."""

_DEEP_GRADIENTS = {"float32": {"rtol": 1.3e-6, "atol": 3e-5}}
"""A gradient through the batch's moments is a difference of float32 sums of about 10."""


def batch_norm(
    trial: Trial,
    shape: Sequence[int],
    training: bool,
    dtype: str = "float32",
    affine: bool | Sequence[str] = True,
    tracked: bool = True,
    statistics_dtype: str | None = None,
    layout: str = "contiguous",
    memory_format: str | None = None,
    special: str | None = None,
    signed: bool = False,
    tolerance: float | None = None,
    **options: Any,
) -> None:
    """Each channel is normalized by its moments in training and by the running moments in evaluation, then scaled and
    shifted. Training updates the running moments; evaluation does not.

    ``affine`` can name one of weight and bias. ``statistics_dtype`` is that of all tensors but the input. ``signed``:
    running means, weights and biases have both signs, and the first weight is zero. ``special`` is a word of
    with_special, or constant: two channels have one value each.
    """
    host, tensors = _channels(trial, shape[1], statistics_dtype or dtype, affine, tracked, signed)
    x = trial.tensor(_values(trial, shape, dtype, special), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    known = widened(trial.numpy(x))
    # A second call would start from other running moments.
    trial.repeatable = not (training and tracked)
    output = trial.call(
        x,
        tensors.get("mean"),
        tensors.get("var"),
        weight=tensors.get("weight"),
        bias=tensors.get("bias"),
        training=training,
        **options,
    )
    eps, momentum = options.get("eps", 1e-5), options.get("momentum", 0.1)
    moments = _moments(known) if training else (host["mean"], host["var"])
    expected = _along(host.get("weight", 1.0), known) * (known - _along(moments[0], known))
    expected = expected / np.sqrt(_along(moments[1], known) + eps) + _along(host.get("bias", 0.0), known)
    wide = {} if tolerance is None else {"rtol": tolerance, "atol": tolerance}
    trial.close(output, expected, dtype=dtype, **(wide or _LOW_PRECISION.get(dtype, {})))
    # The running moments change, the other arguments stay.
    for given, values in ((x, known), *((tensors[name], host[name]) for name in _AFFINE if name in host)):
        trial.exact(given, values, trial.dtype_name(given) or "")
    if tracked:
        count = known.size // shape[1]
        seen = (moments[0], moments[1] * count / max(count - 1, 1)) if training else moments
        for name, moment in zip(_STATISTICS, seen):
            wanted = (1 - momentum) * host[name] + momentum * moment if training else host[name]
            allowed = wide or _LOW_PRECISION.get(statistics_dtype or dtype, {})
            trial.close(tensors[name], wanted, dtype=statistics_dtype or dtype, **allowed)


def batch_norm_gradients(
    trial: Trial,
    shape: Sequence[int],
    training: bool,
    dtype: str,
    affine: bool | Sequence[str] = True,
    tracked: bool = True,
    layout: str = "contiguous",
    signed: bool = False,
) -> None:
    """The gradients of input, weight and bias match the formula; in training the moments depend on the input.
    ``signed`` as for batch_norm."""
    host, tensors = _channels(trial, shape[1], dtype, affine, tracked, signed)
    names = [name for name in _AFFINE if name in host]
    leaves = {name: tensors[name].requires_grad_() for name in names}
    x = trial.random(*shape, dtype=dtype, seed=1)
    leaves["x"] = trial.tensor(x, dtype, layout).requires_grad_()
    down = trial.random(*shape, dtype=dtype, seed=7)
    trial.repeatable = not (training and tracked)
    moments = tensors.get("mean"), tensors.get("var")
    output = trial.call(leaves["x"], *moments, leaves.get("weight"), leaves.get("bias"), training, eps=1e-3)
    (output * trial.tensor(down, dtype, layout)).sum().backward()
    x, down = widened(x), widened(down)
    for name, values in (("x", x), *((name, host[name]) for name in names)):
        trial.exact(leaves[name].detach(), values, dtype)
    axes = (0, *range(2, x.ndim))
    mean, var = _moments(x) if training else (host["mean"], host["var"])
    inverse = 1 / np.sqrt(_along(var, x) + 1e-3)
    normed = (x - _along(mean, x)) * inverse
    weight = _along(host.get("weight", 1.0), x)
    slope = down
    if training:
        slope = down - down.mean(axes, keepdims=True) - normed * (down * normed).mean(axes, keepdims=True)
    trial.close(output, weight * normed + _along(host.get("bias", 0.0), x), dtype=dtype)
    trial.close(leaves["x"].grad, weight * inverse * slope, dtype=dtype)
    for name, terms in (("weight", down * normed), ("bias", down)):
        if name in names:
            trial.close(leaves[name].grad, terms.sum(axes), dtype=dtype, **_DEEP_GRADIENTS.get(dtype, {}))


def group_norm(
    trial: Trial,
    shape: Sequence[int],
    groups: int,
    dtype: str = "float32",
    training: bool = True,
    affine: bool = True,
    layout: str = "contiguous",
    memory_format: str | None = None,
    special: str | None = None,
    tolerance: float | None = None,
    **options: Any,
) -> None:
    """The channel groups of each sample are normalized by their own moments, then each channel is scaled and shifted,
    in evaluation and in training."""
    options["affine"] = affine
    module = trial.make(groups, shape[1], device=trial.device, dtype=trial.dtype(dtype), **options).train(training)
    weights = filled(trial, module, dtype, bound=2)
    trial.equal(sorted(weights), ["bias", "weight"] if affine else [])
    x = trial.tensor(_values(trial, shape, dtype, special), dtype, layout)
    if memory_format:
        x = x.to(memory_format=getattr(torch, memory_format))
    output = trial.call_method(module, "__call__", x)
    known = widened(trial.numpy(x))
    normed, _ = _grouped(known, groups, options.get("eps", 1e-5))
    expected = _along(weights.get("weight", 1.0), known) * normed + _along(weights.get("bias", 0.0), known)
    wide = {} if tolerance is None else {"rtol": tolerance, "atol": tolerance}
    trial.close(output, expected, dtype=dtype, **(wide or _LOW_PRECISION.get(dtype, {})))


def group_norm_gradients(
    trial: Trial,
    shape: Sequence[int],
    groups: int,
    dtype: str,
    layout: str = "contiguous",
    eps: float = 1e-5,
    affine: bool = True,
) -> None:
    """The gradients of input, weight and bias match the formula, in which the moments depend on the input."""
    module = trial.make(groups, shape[1], eps, affine, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype, bound=2)
    x, down = trial.random(*shape, dtype=dtype, seed=1), trial.random(*shape, dtype=dtype, seed=7)
    tensor = trial.tensor(x, dtype, layout).requires_grad_()
    output = trial.call_method(module, "__call__", tensor)
    (output * trial.tensor(down)).sum().backward()
    x, down = widened(x), widened(down)
    normed, inverse = _grouped(x, groups, eps)
    weight = _along(weights.get("weight", 1.0), x)
    trial.close(output, weight * normed + _along(weights.get("bias", 0.0), x), dtype=dtype)
    parts = (shape[0], groups, -1)
    above, known = (down * weight).reshape(parts), normed.reshape(parts)
    slope = above - above.mean(-1, keepdims=True) - known * (above * known).mean(-1, keepdims=True)
    allowed = _DEEP_GRADIENTS.get(dtype, {})
    trial.close(tensor.grad, (inverse * slope).reshape(shape), dtype=dtype, **allowed)
    axes = (0, *range(2, x.ndim))
    if affine:
        trial.close(module.weight.grad, (down * normed).sum(axes), dtype=dtype, **allowed)
        trial.close(module.bias.grad, down.sum(axes), dtype=dtype, **allowed)


def group_norm_new(trial: Trial, groups: int, channels: int, dtype: str) -> None:
    """A new layer has one weight of one and one bias of zero per channel. Its output has mean zero and variance one in
    every group."""
    module = trial.make(groups, channels, device=trial.device, dtype=trial.dtype(dtype))
    trial.close(module.weight, np.ones(channels), dtype=dtype)
    trial.close(module.bias, np.zeros(channels), dtype=dtype)
    x = trial.random(3, channels, 50, dtype=dtype, low=4, high=9)
    output = trial.call_method(module, "__call__", trial.tensor(x))
    trial.close(output, _grouped(widened(x), groups, 1e-5)[0], dtype=dtype)
    parts = output.reshape(3, groups, -1)
    trial.close(parts.mean(-1), np.zeros((3, groups)), dtype=dtype)
    trial.close((parts**2).mean(-1), np.ones((3, groups)), rtol=1e-4, dtype=dtype)


def _values(trial: Trial, shape: Sequence[int], dtype: str, special: str | None) -> Any:
    values = 2 * trial.random(*shape, dtype=dtype, seed=1) + 1
    if special == "constant":
        values[:, :2] = 3.25
        return values
    return with_special(values, dtype, special) if special else values


def _channels(
    trial: Trial, count: int, dtype: str, affine: bool | Sequence[str], tracked: bool, signed: bool = False
) -> tuple[Any, Any]:
    """Create running moments, weight and bias, on the host in double precision and on the device. All are positive,
    unless they are ``signed``."""
    scaling = (_AFFINE if affine else ()) if isinstance(affine, bool) else tuple(affine)
    names = (_STATISTICS if tracked else ()) + scaling
    tensors = {
        name: trial.tensor(
            trial.random(count, dtype=dtype, seed=11 + len(name), low=-2 if signed and name != "var" else 0.5, high=2),
            dtype,
        )
        for name in names
    }
    if signed and "weight" in tensors:
        tensors["weight"][0] = 0
    return {name: widened(trial.numpy(tensor)) for name, tensor in tensors.items()}, tensors


def _moments(x: Any) -> tuple[Any, Any]:
    axes = (0, *range(2, x.ndim))
    return x.mean(axes), x.var(axes)


def _along(values: Any, x: Any) -> Any:
    """Reshape one value per channel to broadcast with the input."""
    return values if np.ndim(values) == 0 else values.reshape(-1, *(1,) * (x.ndim - 2))


def _grouped(x: Any, groups: int, eps: float) -> tuple[Any, Any]:
    """Return the normalized input, and one over each group's standard deviation."""
    parts = x.reshape(x.shape[0], groups, x[0].size // groups if len(x) else 0)
    inverse = 1 / np.sqrt(parts.var(-1, keepdims=True) + eps) if len(x) else np.ones((0, groups, 1))
    center = parts.mean(-1, keepdims=True) if len(x) else 0
    return ((parts - center) * inverse).reshape(x.shape), inverse
