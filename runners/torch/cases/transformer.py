"""Attention layers and whole transformers, computed once more in NumPy from the same weights."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import Arrays, filled, slopes

_LAYERED: Mapping[str, Mapping[str, float]] = {
    # dtype: every product, softmax and normalization rounds anew, at values of 1 to 3
    "bfloat16": {"rtol": 1.6e-2, "atol": 6e-2},
    "float32": {"rtol": 1.3e-6, "atol": 2e-5},
}

_CURVES: Mapping[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + special.erf(x / 2**0.5)) / 2,
}


def encoder_layer(
    trial: Trial,
    lengths: Sequence[int],
    width: int,
    heads: int,
    dtype: str = "float32",
    training: bool = True,
    gradients: bool = True,
    mask: str | None = None,
    padding: Sequence[int] | None = None,
    layout: str = "contiguous",
    **options: Any,
) -> None:
    """Attention of every position to those that the masks leave, then two linear layers, each added to its input and
    normalized; in evaluation as in training without dropout, with and without recorded gradients.

    ``lengths``: the positions, and the size of the batch if there is one; ``padding``: how many positions at the end
    of each sequence are only padding.
    """
    made = {"dim_feedforward": width + 3, "dropout": 0.0 if training else 0.3, **options}
    layer = trial.make(width, heads, device=trial.device, dtype=trial.dtype(dtype), **made).train(training)
    weights = filled(trial, layer, dtype, bound=0.6)
    x = trial.tensor(trial.random(*lengths, width, dtype=dtype, seed=1), dtype, layout)
    rows = len(lengths) == 2 and not options.get("batch_first", False)
    length = lengths[0] if rows or len(lengths) == 1 else lengths[1]
    masks = _masks(length, mask, padding)
    named = {
        name: trial.tensor(values, None if values.dtype == bool else dtype)
        for name, values in (("src_mask", masks[0]), ("src_key_padding_mask", masks[1]))
        if values is not None
    }
    with contextlib.nullcontext() if gradients else torch.no_grad():
        output = trial.call_method(layer, "__call__", x, **named)
    known = widened(trial.numpy(x))
    expected = _swapped(_encoded(_swapped(known, rows), weights, "", heads, _closed(masks), **_shared(options)), rows)
    trial.close(output, expected, dtype=dtype, **_LAYERED.get(dtype, {}))


def encoder_layer_gradients(trial: Trial, lengths: Sequence[int], width: int, heads: int, dtype: str) -> None:
    """The gradients of input and parameters are the slopes of the formula."""
    layer = trial.make(width, heads, 5, 0.0, "gelu", device=trial.device, dtype=trial.dtype(dtype), batch_first=True)
    weights = filled(trial, layer, dtype, bound=0.6)
    x, down = (trial.random(*lengths, width, dtype=dtype, seed=seed) for seed in (1, 7))
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(layer, "__call__", tensor)
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        return _encoded(at["x"], at, "", heads, None, activation="gelu")

    point = {**weights, "x": widened(x)}
    trial.close(output, computed(point), dtype=dtype, **_LAYERED.get(dtype, {}))
    expected = slopes(lambda at: float((computed(at) * down).sum()), point)
    allowed = {"rtol": 1e-5, "atol": 5e-5} if dtype == "float32" else {}
    for name, leaf in [("x", tensor), *layer.named_parameters()]:
        trial.close(leaf.grad, expected[name], dtype=dtype, **allowed)


def encoder_layer_dropout(trial: Trial, width: int, heads: int) -> None:
    """In training dropout makes every call another; evaluation is the formula without it."""
    layer = trial.make(width, heads, 2 * width, 0.5, device=trial.device)
    weights = filled(trial, layer, "float32", bound=0.6)
    x = trial.random(12, 6, width, seed=1)
    tensor = trial.tensor(x)
    expected = np.swapaxes(_encoded(np.swapaxes(widened(x), 0, 1), weights, "", heads, None), 0, 1)
    trial.repeatable = False  # One steady time is enough: that of the evaluation.
    trained = [trial.numpy(trial.call_method(layer, "__call__", tensor)) for _ in range(2)]
    trial.repeatable = True
    trial.close(trial.call_method(layer.eval(), "__call__", tensor), expected, dtype="float32", **_LAYERED["float32"])
    for label, other in (("the formula without dropout", expected), ("the call before", trained[0])):
        trial.equal(list(trained[1].shape), list(other.shape))
        far = float(np.mean(abs(trained[1] - other) > 1e-3))
        trial.check(far > 0.9, f"only {far:.2f} of the values in training differ from {label}")
    # The last step is a normalization: over each position, the values without weight and bias have these moments.
    normed = (trained[1] - weights["norm2.bias"]) / weights["norm2.weight"]
    trial.close(normed.mean(-1), np.zeros((12, 6)), rtol=0, atol=1e-3)
    trial.close((normed**2).mean(-1), np.ones((12, 6)), rtol=0, atol=1e-2)


def transformer(
    trial: Trial,
    lengths: Sequence[int],
    width: int,
    heads: int,
    layers: Sequence[int],
    dtype: str = "float32",
    training: bool = True,
    causal: bool = False,
    memory_mask: str | None = None,
    padding: Sequence[int] | None = None,
    layout: str = "contiguous",
    **options: Any,
) -> None:
    """The encoder's layers and normalization, then the decoder's, which attend to themselves and to the encoder.

    ``lengths``: the positions of source and target, and the size of the batch if there is one; ``padding``: how many
    positions at the end of each source are only padding.
    """
    made = {"dim_feedforward": width + 3, "dropout": 0.0 if training else 0.3, **options}
    model = trial.make(width, heads, *layers, device=trial.device, dtype=trial.dtype(dtype), **made).train(training)
    weights = filled(trial, model, dtype, bound=0.6)
    first = options.get("batch_first", False)
    batch = [] if len(lengths) == 2 else [lengths[2]]
    shapes = ([*batch, length, width] if first else [length, *batch, width] for length in lengths[:2])
    source, target = (
        trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype, layout) for seed, shape in enumerate(shapes)
    )
    ahead = np.triu(np.ones((lengths[1], lengths[1]), bool), 1) if causal else None
    between = _masks(lengths[0], memory_mask, padding, lengths[1])
    named = {
        "tgt_mask": ahead,
        "memory_mask": between[0],
        "src_key_padding_mask": between[1],
        "memory_key_padding_mask": between[1],
    }
    masks = {
        name: trial.tensor(values, None if values.dtype == bool else dtype)
        for name, values in named.items()
        if values is not None
    }
    output = trial.call_method(model, "__call__", source, target, **masks)
    rows = bool(batch) and not first
    known = [_swapped(widened(trial.numpy(tensor)), rows) for tensor in (source, target)]
    closed = _closed((None, between[1])), _closed((ahead, None)), _closed(between)
    expected = _translated(*known, weights, heads, layers, closed, **_shared(options))
    trial.close(output, _swapped(expected, rows), dtype=dtype, **_LAYERED.get(dtype, {}))


def transformer_gradients(trial: Trial, width: int, heads: int, dtype: str) -> None:
    """The gradients of source, target and parameters are the slopes of the formula."""
    model = trial.make(width, heads, 1, 1, 3, 0.0, device=trial.device, dtype=trial.dtype(dtype), batch_first=True)
    weights = filled(trial, model, dtype, bound=0.6)
    host = {name: trial.random(1, 3, width, dtype=dtype, seed=seed) for seed, name in enumerate(("src", "tgt"), 2)}
    down = trial.random(1, 3, width, dtype=dtype, seed=7)
    tensors = {name: trial.tensor(values).requires_grad_() for name, values in host.items()}
    output = trial.call_method(model, "__call__", tensors["src"], tensors["tgt"])
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        return _translated(at["src"], at["tgt"], at, heads, (1, 1), (None, None, None))

    point = {**weights, **{name: widened(values) for name, values in host.items()}}
    trial.close(output, computed(point), dtype=dtype, **_LAYERED.get(dtype, {}))
    expected = slopes(lambda at: float((computed(at) * down).sum()), point)
    allowed = {"rtol": 1e-5, "atol": 5e-5} if dtype == "float32" else {}
    for name, leaf in [*tensors.items(), *model.named_parameters()]:
        trial.close(leaf.grad, expected[name], dtype=dtype, **allowed)


def transformer_looks_back(trial: Trial, width: int, heads: int) -> None:
    """With its own mask a target position depends on no later one: changing the end leaves the beginning."""
    model = trial.make(width, heads, 1, 2, 2 * width, 0.0, device=trial.device)
    weights = filled(trial, model, "float32", bound=0.6)
    mask = trial.call_method(model, "generate_square_subsequent_mask", 8).to(trial.device)
    ahead = np.triu(np.ones((8, 8), bool), 1)
    trial.close(mask, np.where(ahead, -np.inf, 0), dtype="float32")
    source, target = trial.random(5, 3, width, seed=1), trial.random(8, 3, width, seed=2)
    changed = np.concatenate([target[:6], trial.random(2, 3, width, seed=3)])
    source_tensor = trial.tensor(source)
    outputs = []
    for end in (target, changed):
        outputs.append(trial.call_method(model, "__call__", source_tensor, trial.tensor(end), tgt_mask=mask))
        trial.repeatable = False  # One steady time is enough: that of the first.
    closed = (None, _closed((ahead, None)), None)
    for end, output in zip((target, changed), outputs):
        known = np.swapaxes(widened(source), 0, 1), np.swapaxes(widened(end), 0, 1)
        expected = np.swapaxes(_translated(*known, weights, heads, (1, 2), closed), 0, 1)
        trial.close(output, expected, dtype="float32", **_LAYERED["float32"])
    first, second = (trial.numpy(output) for output in outputs)
    trial.close(second[:6], first[:6], rtol=0, atol=1e-6)
    trial.check((abs(second[6:] - first[6:]) > 1e-4).mean() > 0.9, "the end does not depend on itself")


def transformer_mask(trial: Trial, size: int, dtype: str) -> None:
    """The mask of later positions is -inf above the diagonal and zero elsewhere."""
    model = trial.make(4, 2, 1, 1, 4, device=trial.device, dtype=trial.dtype(dtype))
    mask = trial.call_method(model, "generate_square_subsequent_mask", size)
    trial.close(mask, np.where(np.triu(np.ones((size, size), bool), 1), -np.inf, 0), dtype="float32")


def transformer_dropout(trial: Trial, width: int, heads: int) -> None:
    """In training dropout makes every call another; evaluation is the formula without it."""
    model = trial.make(width, heads, 1, 1, 2 * width, 0.5, device=trial.device, batch_first=True)
    weights = filled(trial, model, "float32", bound=0.6)
    source, target = trial.random(6, 7, width, seed=1), trial.random(6, 5, width, seed=2)
    tensors = trial.tensor(source), trial.tensor(target)
    expected = _translated(widened(source), widened(target), weights, heads, (1, 1), (None, None, None))
    trial.repeatable = False  # One steady time is enough: that of the evaluation.
    trained = [trial.numpy(trial.call_method(model, "__call__", *tensors)) for _ in range(2)]
    trial.repeatable = True
    found = trial.call_method(model.eval(), "__call__", *tensors)
    trial.close(found, expected, dtype="float32", **_LAYERED["float32"])
    for label, other in (("the formula without dropout", expected), ("the call before", trained[0])):
        trial.equal(list(trained[1].shape), list(other.shape))
        far = float(np.mean(abs(trained[1] - other) > 1e-3))
        trial.check(far > 0.9, f"only {far:.2f} of the values in training differ from {label}")
    normed = (trained[1] - weights["decoder.norm.bias"]) / weights["decoder.norm.weight"]
    trial.close(normed.mean(-1), np.zeros((6, 5)), rtol=0, atol=1e-3)
    trial.close((normed**2).mean(-1), np.ones((6, 5)), rtol=0, atol=1e-2)


def transformer_new(trial: Trial, width: int, heads: int, layers: Sequence[int], hidden: int) -> None:
    """A new model has the documented layers, matrices spread evenly by Xavier's bound, and normalizations that do
    nothing; and it normalizes its output."""
    model = trial.make(width, heads, *layers, hidden, 0.0, device=trial.device)
    trial.equal((model.d_model, model.nhead), (width, heads))
    trial.equal([len(model.encoder.layers), len(model.decoder.layers)], list(layers))
    shapes = {"in_proj_weight": [3 * width, width], "linear1.weight": [hidden, width]}
    shapes.update({"linear2.weight": [width, hidden], "out_proj.weight": [width, width]})
    for name, parameter in model.named_parameters():
        values = trial.numpy(parameter)
        known = next((shape for end, shape in shapes.items() if name.endswith(end)), None)
        if known is not None:
            trial.equal(list(values.shape), known)
            bound = (6 / sum(known)) ** 0.5
            largest, spread = float(abs(values).max()), float(values.std()) * 3**0.5
            trial.check(0.98 * bound <= largest <= 1.0001 * bound, f"{name} reaches {largest:.3g}, not {bound:.3g}")
            trial.check(abs(spread / bound - 1) < 0.1, f"{name} spreads over {spread:.3g}, expected {bound:.3g}")
        elif "norm" in name:
            trial.equal(parameter, np.full(width, float(name.endswith("weight")), "float32"))
    source, target = trial.tensor(trial.random(6, 2, width, seed=1)), trial.tensor(trial.random(4, 2, width, seed=2))
    output = trial.call_method(model, "__call__", source, target)
    weights = {name: widened(trial.numpy(parameter)) for name, parameter in model.named_parameters()}
    known_inputs = (np.swapaxes(widened(trial.numpy(tensor)), 0, 1) for tensor in (source, target))
    expected = _translated(*known_inputs, weights, heads, layers, (None, None, None))
    trial.close(output, np.swapaxes(expected, 0, 1), dtype="float32", **_LAYERED["float32"])


def _masks(length: int, mask: str | None, padding: Sequence[int] | None, rows: int | None = None) -> tuple[Any, Any]:
    """A mask between positions (by kind: bool, or float with weights to add), and one of padded positions."""
    count = length if rows is None else rows
    between: Any = None
    if mask is not None:
        # Each position sees itself (or the first one), so that none sees nothing.
        hidden = (np.arange(count)[:, None] * 2 + np.arange(length)) % 3 == 1
        hidden[np.arange(count), np.arange(count) % length] = False
        hidden[:, 0] = False
        weights = np.add.outer(np.arange(count), 2.0 * np.arange(length)) % 5 / 4
        between = hidden if mask == "bool" else np.where(hidden, -np.inf, weights)
    padded = None if padding is None else np.arange(length) >= length - np.asarray(padding)[:, None]
    return between, padded


def _closed(masks: tuple[Any, Any]) -> Any:
    """What the masks add to the attention of (batch, head, position, position): -inf where none is allowed."""
    between, padded = (
        np.where(part, -np.inf, 0.0) if part is not None and part.dtype == bool else part for part in masks
    )
    if between is None and padded is None:
        return None
    return (0 if between is None else between) + (0 if padded is None else padded[:, None, None, :])


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("activation", "norm_first", "layer_norm_eps") if name in options}


def _swapped(x: Any, rows: bool) -> Any:
    return np.swapaxes(x, 0, 1) if rows else x


def _attended(query: Any, memory: Any, weights: Arrays, name: str, heads: int, closed: Any) -> Any:
    """Attention of (batch, position, width), batch left out or not, by several heads."""
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
    """Each step is added to its input; the normalization comes before the step, or after the sum."""
    for number, step in enumerate(steps, 1):
        name = f"{prefix}norm{number}"
        x = x + step(_normed(x, weights, name, eps)) if first else _normed(x + step(x), weights, name, eps)
    return x


def _encoded(
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


def _translated(
    source: Any,
    target: Any,
    weights: Arrays,
    heads: int,
    layers: Sequence[int],
    closed: Sequence[Any],
    **options: Any,
) -> Any:
    """``closed``: what masks add to the attention of the encoder, of the decoder, and between the two."""
    eps = options.get("layer_norm_eps", 1e-5)
    for number in range(layers[0]):
        source = _encoded(source, weights, f"encoder.layers.{number}.", heads, closed[0], **options)
    memory = _normed(source, weights, "encoder.norm", eps)
    for number in range(layers[1]):
        target = _decoded(target, memory, weights, f"decoder.layers.{number}.", heads, closed[1:], **options)
    return _normed(target, weights, "decoder.norm", eps)
