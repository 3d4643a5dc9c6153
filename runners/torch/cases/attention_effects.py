"""torch.nn.Transformer and torch.nn.TransformerEncoderLayer: masks in turns, special values, large scores, the places
that dropout drops, and second gradients.

The seeds are fixed. A correct generator exceeds a bound on what is dropped with a probability below 1e-7.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import Arrays, filled, slopes
from runners.torch.cases.transformer_reference import attention_bias, encode, translate

_SIGMAS = 6.5

_MASK_VALUES = (
    (0.0,),
    (-0.5, 0.25),
    (3.0, -2.0),
    (-1e4, 0.0),
    (-30.0, 40.0),
    (-12.0, -11.0),
    (-3e38, 0.0),
    (-np.inf, -1.0, 2.0),
)
"""Each is spread over one mask: finite numbers are added to the scores, whatever their sign and size."""


def _masks(length: int, width: int, step: int) -> Iterator[Any]:
    for number, values in enumerate(_MASK_VALUES):
        places = (np.add.outer(np.arange(length) * step, np.arange(width)) + number) % len(values)
        mask = np.array(values)[places]
        if np.isinf(mask).any():
            mask[:, 0] = np.maximum(mask[:, 0], -0.5)  # No row is masked completely.
        yield mask


def _made(trial: Trial, kind: str, width: int, dtype: str, bound: float = 0.6, **options: Any) -> tuple[Any, Arrays]:
    """A layer, or a model of one layer for each side, in training and without dropout, and its weights."""
    layers = (1, 1) if kind == "model" else ()
    options = {"dim_feedforward": width + 3, "dropout": 0.0, "device": trial.device, **options}
    module = trial.make(width, 2, *layers, dtype=trial.dtype(dtype), **options)
    return module, filled(trial, module, dtype, bound=bound)


def _reference(kind: str, known: Sequence[Any], weights: Arrays, **options: Any) -> Any:
    """What the layer, or the model, computes without masks, batch first."""
    if kind == "model":
        return translate(*known, weights, 2, (1, 1), (None,) * 3, **options)
    return encode(*known, weights, "", 2, None, **options)


def _close(trial: Trial, output: Any, expected: Any, **allowed: float) -> None:
    trial.close(output, np.swapaxes(expected, 0, 1), dtype="float32", **{"rtol": 1e-5, "atol": 1e-4, **allowed})


def encoder_masks_in_turns(trial: Trial, width: int) -> None:
    """One layer gets masks and paddings of the same shape in turns: finite numbers of either sign are added to the
    scores, only -inf and padding exclude a position."""
    layer, weights = _made(trial, "layer", width, "float32")
    x = trial.random(5, 3, width, seed=1)
    known = np.swapaxes(widened(x), 0, 1)
    trial.repeatable = False
    for number, mask in enumerate(_masks(5, 5, 2)):
        padded = np.arange(5) >= 5 - (np.arange(3) + number)[:, None] % 4
        for padding in (None, padded):
            given = {} if padding is None else {"src_key_padding_mask": trial.tensor(padding)}
            given["src_mask"] = trial.tensor(mask, "float32")
            expected = encode(known, weights, "", 2, attention_bias((mask, padding)))
            _close(trial, trial.call_method(layer, "__call__", trial.tensor(x), **given), expected)


def model_masks_in_turns(trial: Trial, width: int) -> None:
    """One model gets masks of source, target and memory in turns: finite numbers of either sign are added to the
    scores of the attention that they belong to."""
    model, weights = _made(trial, "model", width, "float32")
    source, target = trial.random(5, 3, width, seed=1), trial.random(4, 3, width, seed=2)
    known = [np.swapaxes(widened(each), 0, 1) for each in (source, target)]
    tensors = trial.tensor(source), trial.tensor(target)
    trial.repeatable = False
    for place, (name, shape) in enumerate((("src_mask", (5, 5)), ("tgt_mask", (4, 4)), ("memory_mask", (4, 5)))):
        for mask in _masks(*shape, 2):
            closed: list[Any] = [None] * 3
            closed[place] = mask
            output = trial.call_method(model, "__call__", *tensors, **{name: trial.tensor(mask, "float32")})
            _close(trial, output, translate(*known, weights, 2, (1, 1), closed))


def special_values(trial: Trial, kind: str, width: int) -> None:
    """NaN or infinity at one position makes the outputs of its element of the batch NaN, and of no other one. NaN in
    the last bias before a normalization makes all outputs NaN. ``kind``: "layer" or "model"."""
    for training in (True, False):
        module, weights = _made(trial, kind, width, "float32")
        module.train(training)
        inputs = [trial.random(4, 3, width, seed=seed) for seed in range(1, 3 if kind == "model" else 2)]
        known = [np.swapaxes(widened(each), 0, 1) for each in inputs]
        plain = _reference(kind, known, weights)
        trial.repeatable = False
        for place in range(len(inputs)):
            for value in (np.nan, np.inf, -np.inf):
                given = [each.copy() for each in inputs]
                given[place][2, 1, 1] = value
                expected = plain.copy()
                expected[1] = np.nan
                _close(trial, trial.call_method(module, "__call__", *map(trial.tensor, given)), expected)
        last = [values for name, values in module.named_parameters() if name.endswith("linear2.bias")][-1]
        with torch.no_grad():
            last[0] = float("nan")
        _close(trial, trial.call_method(module, "__call__", *map(trial.tensor, inputs)), np.full_like(plain, np.nan))


def nan_queries(trial: Trial, kind: str, positions: int) -> None:
    """Weights of the queries that are NaN make all outputs NaN, however many positions there are. ``kind``: "layer" or
    "model"."""
    module, _ = _made(trial, kind, 4, "float32")
    for name, parameter in module.named_parameters():
        if name.endswith("in_proj_weight"):
            with torch.no_grad():
                parameter[:4] = float("nan")
    inputs = [trial.tensor(trial.random(positions, 3, 4, seed=seed)) for seed in range(1, 3 if kind == "model" else 2)]
    for training in (True, False):
        module.train(training)
        trial.repeatable = False
        _close(trial, trial.call_method(module, "__call__", *inputs), np.full((3, positions, 4), np.nan))


def large_scores(trial: Trial, kind: str, width: int) -> None:
    """Scores of several hundreds and inputs of 1e6 neither overflow nor lose the position that they choose.
    ``kind``: "layer" or "model"."""
    module, weights = _made(trial, kind, width, "float64")
    for name, parameter in module.named_parameters():
        if name.endswith("in_proj_weight"):
            with torch.no_grad():
                parameter[: 2 * width] *= 30
            weights[name][: 2 * width] *= 30
    trial.repeatable = False
    for scale in (1.0, 20.0, 1e6):
        seeds = (1, 2) if kind == "model" else (1,)
        inputs = [scale * trial.random(5, 3, width, dtype="float64", seed=seed) for seed in seeds]
        expected = _reference(kind, [np.swapaxes(each, 0, 1) for each in inputs], weights)
        output = trial.call_method(module, "__call__", *map(trial.tensor, inputs))
        trial.close(output, np.swapaxes(expected, 0, 1), dtype="float64", rtol=1e-6, atol=1e-6)
    single = module.float()
    output = trial.call_method(single, "__call__", *(trial.tensor(each, "float32") for each in inputs))
    trial.check(bool(torch.isfinite(output).all()), "large scores are not finite in float32")


def _differentiable() -> Any:
    """Select the formula of attention, whose gradients can be differentiated, if PyTorch has a choice."""
    attention = getattr(torch.nn, "attention", None)
    return attention.sdpa_kernel(attention.SDPBackend.MATH) if attention else contextlib.nullcontext()


def second_gradients(trial: Trial, kind: str, width: int) -> None:
    """The change of the gradient along a direction is the second derivative of the formula. ``kind``: "layer" or
    "model"."""
    module, weights = _made(trial, kind, width, "float64", activation="gelu")
    names = ("source", "target") if kind == "model" else ("source",)
    point = {name: trial.random(2, 1, width, dtype="float64", seed=seed) for seed, name in enumerate(names, 1)}
    down, along = (trial.random(2, 1, width, dtype="float64", seed=seed) for seed in (7, 8))
    tensors = [trial.tensor(values).requires_grad_() for values in point.values()]
    with _differentiable():
        output = trial.call_method(module, "__call__", *tensors)
    firsts = torch.autograd.grad((output * trial.tensor(down)).sum(), tensors, create_graph=True)
    seconds = torch.autograd.grad(sum((first * trial.tensor(along)).sum() for first in firsts), tensors)

    def total(at: Arrays, step: float) -> float:
        moved = [np.swapaxes(values + step * along, 0, 1) for values in at.values()]
        found = _reference(kind, moved, weights, activation="gelu")
        return float((np.swapaxes(found, 0, 1) * down).sum())

    expected = slopes(lambda at: (total(at, 1e-4) - total(at, -1e-4)) / 2e-4, point, 1e-4)
    for name, second in zip(names, seconds):
        trial.close(second, expected[name], dtype="float64", rtol=1e-3, atol=1e-3)


def _check_kept(trial: Trial, kept: Any, share: float, label: str) -> None:
    """The places that are kept are as many as expected, in each slice, and neighbors along an axis are independent."""
    spread = (share * (1 - share)) ** 0.5
    centered = (kept - share) / spread
    for axis in range(kept.ndim):
        others = tuple(other for other in range(kept.ndim) if other != axis)
        sums = np.abs(centered.sum(others)) / (kept.size / kept.shape[axis]) ** 0.5
        trial.check(
            float(sums.max()) < _SIGMAS, f"{label}: a slice of axis {axis} is not kept in {share:.2f} of places"
        )
        for distance in (1, kept.shape[axis] // 2):
            related = float((centered * np.roll(centered, distance, axis)).sum()) / kept.size**0.5
            trial.check(
                kept.shape[axis] == 1 or abs(related) < 2 * _SIGMAS, f"{label}: axis {axis} is dropped together"
            )


def places_dropped(trial: Trial, kind: str, sizes: Sequence[int]) -> None:
    """Each dropout of a layer drops half of its places, independently of the batch, the position, the feature and the
    other dropouts, also after an evaluation; and the other half is doubled. The evaluation drops none.

    ``kind``: "layer", or "model" for the decoder of a model; ``sizes``: positions, batch, and features (or heads).
    """
    width = sizes[2]
    layers = (1, 1) if kind == "model" else ()
    module = trial.make(width, width, *layers, width, 0.5, norm_first=True, device=trial.device)
    if kind == "model":
        module.decoder.norm = None
    layer = module.decoder.layers[0] if kind == "model" else module
    attentions = [layer.self_attn, *([layer.multihead_attn] if kind == "model" else [])]
    x = trial.tensor(trial.random(*sizes, seed=1))
    given = (x,) if kind == "layer" else (trial.tensor(trial.random(1, *sizes[1:], seed=2)), x)
    trial.repeatable = False
    torch.manual_seed(3)

    def added(training: bool, on: Any, off: Sequence[Any]) -> Any:
        """What the block of the module ``on`` adds, if each place gets one before it; 1 for the first, 4 for a pair."""
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            for number, (part, identity) in enumerate(on):
                if identity:
                    part.weight.copy_(torch.eye(width))
                else:
                    part.bias.fill_(4.0**number)
            for attention in off:
                attention.in_proj_bias[2 * width :] = 1
            return trial.numpy(trial.call_method(module.train(training), "__call__", *given) - x)

    for attention in attentions:
        trial.close(added(False, [(attention.out_proj, False)], []), np.ones(sizes), rtol=1e-6, atol=1e-5)
        both = np.round(added(True, [(attention.out_proj, False), (layer.linear2, False)], []))
        trial.check(bool(np.isin(both, (0, 2, 8, 10)).all()), "a place is neither dropped nor doubled")
        _check_kept(trial, (both % 4 == 2) * 1.0, 0.5, "after the attention")
        _check_kept(trial, (both >= 8) * 1.0, 0.5, "after the linear layers")
        _check_kept(trial, (both == 10) * 1.0, 0.25, "after both")
        single = sizes[0] == 1 or attention is not layer.self_attn
        if single:  # The attention is to one position, whose share is dropped or doubled.
            shares = np.round(added(True, [(attention.out_proj, True)], [attention]))
            trial.check(bool(np.isin(shares, (0, 4)).all()), "a share is neither dropped nor doubled")
            _check_kept(trial, (shares == 4) * 1.0, 0.25, "of the attention")
        inner = np.round(added(True, [(layer.linear1, False), (layer.linear2, True)], []))
        trial.check(bool(np.isin(inner, (0, 4)).all()), "a hidden feature is neither dropped nor doubled")
        _check_kept(trial, (inner == 4) * 1.0, 0.25, "between the linear layers")


def new_biases(trial: Trial, width: int, layers: int) -> None:
    """In a new model the biases of attentions are zero, those of linear layers are uniform within their bound, and all
    layers of a side begin with equal biases and with matrices of their own."""
    model = trial.make(width, 2, layers, layers, 3 * width, device=trial.device)
    trial.call_method(model, "eval")
    for side in (model.encoder.layers, model.decoder.layers):
        parameters = {name: parameter.detach() for name, parameter in side[0].named_parameters()}
        first = {name: trial.numpy(parameter) for name, parameter in parameters.items()}
        for name, values in first.items():
            if name.endswith(("_proj.bias", "in_proj_bias")):
                trial.exact(parameters[name], np.zeros(values.shape), "float32")
            elif "linear" in name and name.endswith("bias"):
                bound = first[name.replace("bias", "weight")].shape[1] ** -0.5
                trial.check(bool((np.abs(values) <= bound * 1.0001).all() and values.std() > bound / 4), f"bad {name}")
        for layer in list(side)[1:]:
            for name, parameter in layer.named_parameters():
                equal = bool((trial.numpy(parameter.detach()) == first[name]).all())
                trial.check(equal == (parameter.ndim == 1), f"{name} of two layers: equal is {equal}")
