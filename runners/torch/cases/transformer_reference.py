"""The transformer in NumPy: the reference of the cases about torch.nn.Transformer and its layers."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
from scipy import special

from runners.torch.cases.layers import Arrays

TOLERANCES: Mapping[str, Mapping[str, float]] = {
    # dtype: every product, softmax and normalization is rounded, at values of 1 to 3
    "bfloat16": {"rtol": 1.6e-2, "atol": 6e-2},
    "float32": {"rtol": 1.3e-6, "atol": 2e-5},
}

_CURVES: Mapping[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + special.erf(x / 2**0.5)) / 2,
    "tanh": np.tanh,
}


def make_masks(
    length: int, mask: str | None, padding: Sequence[int] | None, rows: int | None = None
) -> tuple[Any, Any]:
    """Return a mask between positions (bool, or float weights to add, by ``mask``) and a mask of padded positions."""
    count = length if rows is None else rows
    between: Any = None
    if mask is not None:
        # Each position can attend to itself or to the first one, so that none is masked completely.
        hidden = (np.arange(count)[:, None] * 2 + np.arange(length)) % 3 == 1
        hidden[np.arange(count), np.arange(count) % length] = False
        hidden[:, 0] = False
        weights = np.add.outer(np.arange(count), 2.0 * np.arange(length)) % 5 / 4
        between = hidden if mask == "bool" else np.where(hidden, -np.inf, weights)
    padded = None if padding is None else np.arange(length) >= length - np.asarray(padding)[:, None]
    return between, padded


def mask_by_head(mask: Any, batch: int, heads: int) -> Any:
    """Return a mask of its own for each sequence of a batch and each head: the given one with its rows moved on."""
    moved = np.stack([np.roll(mask, number, axis=0) for number in range(batch * heads)])
    return moved.reshape(batch, heads, *mask.shape)


def attention_bias(masks: tuple[Any, Any]) -> Any:
    """Return what the masks add to the attention of (batch, head, position, position): -inf where it is not allowed."""
    between, padded = (
        np.where(part, -np.inf, 0.0) if part is not None and part.dtype == bool else part for part in masks
    )
    if between is None and padded is None:
        return None
    return (0 if between is None else between) + (0 if padded is None else padded[:, None, None, :])


def formula_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("activation", "norm_first", "layer_norm_eps") if name in options}


def swap_batch(x: Any, rows: bool) -> Any:
    return np.swapaxes(x, 0, 1) if rows else x


def _attended(query: Any, memory: Any, weights: Arrays, name: str, heads: int, closed: Any) -> Any:
    """Return the attention of (batch, position, width), or of (position, width), with several heads."""
    parts = np.split(weights[f"{name}.in_proj_weight"], 3), np.split(weights[f"{name}.in_proj_bias"], 3)
    q, k, v = (x @ weight.T + bias for x, weight, bias in zip((query, memory, memory), *parts))
    q, k, v = (np.swapaxes(x.reshape(*x.shape[:-1], heads, -1), -2, -3) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    shares = special.softmax(scores if closed is None else scores + closed, axis=-1)
    joined = np.swapaxes(shares @ v, -2, -3).reshape(query.shape)
    return joined @ weights[f"{name}.out_proj.weight"].T + weights[f"{name}.out_proj.bias"]


def _normed(x: Any, weights: Arrays, name: str, eps: float) -> Any:
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _fed(x: Any, weights: Arrays, prefix: str, activation: str) -> Any:
    hidden = _CURVES[activation](x @ weights[f"{prefix}linear1.weight"].T + weights[f"{prefix}linear1.bias"])
    return hidden @ weights[f"{prefix}linear2.weight"].T + weights[f"{prefix}linear2.bias"]


def _layered(
    x: Any, steps: Sequence[Callable[[Any], Any]], weights: Arrays, prefix: str, first: bool, eps: float
) -> Any:
    """Add each step to its input; normalize before the step (``first``) or after the sum."""
    for number, step in enumerate(steps, 1):
        name = f"{prefix}norm{number}"
        x = x + step(_normed(x, weights, name, eps)) if first else _normed(x + step(x), weights, name, eps)
    return x


def encode(
    x: Any,
    weights: Arrays,
    prefix: str,
    heads: int,
    closed: Any,
    activation: str = "relu",
    norm_first: bool = False,
    layer_norm_eps: float = 1e-5,
) -> Any:
    steps = (
        lambda at: _attended(at, at, weights, f"{prefix}self_attn", heads, closed),
        lambda at: _fed(at, weights, prefix, activation),
    )
    return _layered(x, steps, weights, prefix, norm_first, layer_norm_eps)


def _decoded(
    x: Any,
    memory: Any,
    weights: Arrays,
    prefix: str,
    heads: int,
    closed: Sequence[Any],
    activation: str = "relu",
    norm_first: bool = False,
    layer_norm_eps: float = 1e-5,
) -> Any:
    steps = (
        lambda at: _attended(at, at, weights, f"{prefix}self_attn", heads, closed[0]),
        lambda at: _attended(at, memory, weights, f"{prefix}multihead_attn", heads, closed[1]),
        lambda at: _fed(at, weights, prefix, activation),
    )
    return _layered(x, steps, weights, prefix, norm_first, layer_norm_eps)


def translate(
    source: Any,
    target: Any,
    weights: Arrays,
    heads: int,
    layers: Sequence[int],
    closed: Sequence[Any],
    **options: Any,
) -> Any:
    """Compute encoder and decoder. ``closed``: what masks add to the attention of the encoder, of the decoder, and
    between both."""
    eps = options.get("layer_norm_eps", 1e-5)
    for number in range(layers[0]):
        source = encode(source, weights, f"encoder.layers.{number}.", heads, closed[0], **options)
    memory = _normed(source, weights, "encoder.norm", eps)
    for number in range(layers[1]):
        target = _decoded(target, memory, weights, f"decoder.layers.{number}.", heads, closed[1:], **options)
    return _normed(target, weights, "decoder.norm", eps)
