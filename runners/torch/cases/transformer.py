"""torch.nn.Transformer, compared with the formula in NumPy."""

from __future__ import annotations

import contextlib
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import QUOTIENTS, Arrays, filled, slopes
from runners.torch.cases.transformer_reference import (
    TOLERANCES,
    attention_bias,
    formula_options,
    make_masks,
    mask_by_head,
    swap_batch,
    translate,
)


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
    source_mask: str | None = None,
    target_mask: str | None = None,
    target_padding: Sequence[int] | None = None,
    gradients: bool = True,
    padded_memory: bool = False,
    by_head: bool = False,
    **options: Any,
) -> None:
    """The encoder's layers and normalization are followed by the decoder's, which attend to themselves and to the
    encoder.

    ``lengths``: the positions of source and target, and the batch size if there is a batch; ``padding`` and
    ``target_padding``: how many positions at the end of each source or target are padding. With ``padded_memory`` the
    decoder attends to the padding of the source too. With ``by_head`` each head of each source has a mask of its own.
    """
    made = {"dim_feedforward": width + 3, "dropout": 0.0 if training else 0.3, **options}
    if made.get("activation") == "tanh":
        made["activation"] = torch.tanh
    model = trial.make(width, heads, *layers, device=trial.device, dtype=trial.dtype(dtype), **made).train(training)
    weights = filled(trial, model, dtype, bound=0.6)
    first = options.get("batch_first", False)
    batch = [] if len(lengths) == 2 else [lengths[2]]
    shapes = ([*batch, length, width] if first else [length, *batch, width] for length in lengths[:2])
    source, target = (
        trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype, layout) for seed, shape in enumerate(shapes)
    )
    ahead = np.triu(np.ones((lengths[1], lengths[1]), bool), 1) if causal else None
    between = make_masks(lengths[0], memory_mask, None if padded_memory else padding, lengths[1])
    of_source = make_masks(lengths[0], source_mask, padding)
    if by_head:
        of_source = (mask_by_head(of_source[0], lengths[2], heads), of_source[1])
    of_target = make_masks(lengths[1], target_mask, target_padding)
    of_target = (ahead, of_target[1]) if causal else of_target
    named = {
        "src_mask": of_source[0],
        "tgt_mask": of_target[0],
        "tgt_key_padding_mask": of_target[1],
        "memory_mask": between[0],
        "src_key_padding_mask": of_source[1],
        "memory_key_padding_mask": between[1],
    }
    masks = {
        # The masks of all heads of all sources are one axis.
        name: trial.tensor(
            values.reshape(-1, *values.shape[-2:]) if values.ndim == 4 else values,
            None if values.dtype == bool else dtype,
        )
        for name, values in named.items()
        if values is not None
    }
    with contextlib.nullcontext() if gradients else torch.no_grad():
        output = trial.call_method(model, "__call__", source, target, **masks)
    rows = bool(batch) and not first
    known = [swap_batch(widened(trial.numpy(tensor)), rows) for tensor in (source, target)]
    closed = tuple(map(attention_bias, (of_source, of_target, between)))
    expected = translate(*known, weights, heads, layers, closed, **formula_options(options))
    trial.close(output, swap_batch(expected, rows), dtype=dtype, **TOLERANCES.get(dtype, {}))


def transformer_gradients(trial: Trial, width: int, heads: int, dtype: str, **options: Any) -> None:
    """The gradients of source, target and parameters match the derivatives of the formula."""
    made = {"device": trial.device, "dtype": trial.dtype(dtype), "batch_first": True, **options}
    model = trial.make(width, heads, 1, 1, 3, 0.0, **made)
    weights = filled(trial, model, dtype, bound=0.6)
    host = {name: trial.random(1, 3, width, dtype=dtype, seed=seed) for seed, name in enumerate(("src", "tgt"), 2)}
    down = trial.random(1, 3, width, dtype=dtype, seed=7)
    tensors = {name: trial.tensor(values).requires_grad_() for name, values in host.items()}
    output = trial.call_method(model, "__call__", tensors["src"], tensors["tgt"])
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        return translate(at["src"], at["tgt"], at, heads, (1, 1), (None,) * 3, **formula_options(options))

    point = {**weights, **{name: widened(values) for name, values in host.items()}}
    trial.close(output, computed(point), dtype=dtype, **TOLERANCES.get(dtype, {}))
    expected = slopes(lambda at: float((computed(at) * down).sum()), point)
    allowed = {"rtol": 1e-5, "atol": 5e-5} if dtype == "float32" else QUOTIENTS.get(dtype, {})
    for name, leaf in [*tensors.items(), *model.named_parameters()]:
        trial.close(leaf.grad, expected[name], dtype=dtype, **allowed)


def transformer_custom(trial: Trial, width: int) -> None:
    """A custom encoder and decoder take the place of the layers: the encoder gets the source, the decoder the target
    and the encoder's output, each with its masks."""
    seen: list[Any] = []

    class Doubled(torch.nn.Module):
        def forward(self, x: Any, *more: Any, **masks: Any) -> Any:
            seen.append(sorted(name for name, value in masks.items() if torch.is_tensor(value)))
            return 2 * x + sum(memory.mean() for memory in more)

    model = trial.make(width, 2, device=trial.device, custom_encoder=Doubled(), custom_decoder=Doubled())
    trial.equal(len(list(model.parameters())), 0)
    source, target = trial.random(4, 3, width, seed=1), trial.random(5, 3, width, seed=2)
    masks = {"src_mask": (4, 4), "tgt_mask": (5, 5), "memory_mask": (5, 4)}
    given = {name: trial.tensor(np.zeros(shape), "float32") for name, shape in masks.items()}
    trial.repeatable = False
    output = trial.call_method(model, "__call__", trial.tensor(source), trial.tensor(target), **given)
    trial.equal(seen, [["mask"], ["memory_mask", "tgt_mask"]])
    expected = 2 * widened(target) + 2 * widened(source).mean()
    trial.close(output, expected, dtype="float32", **TOLERANCES["float32"])


def transformer_looks_back(trial: Trial, width: int, heads: int) -> None:
    """With the causal mask a target position does not depend on later ones: changing the end leaves the beginning
    unchanged."""
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
        trial.repeatable = False  # Only the first call gets a steady time.
    closed = (None, attention_bias((ahead, None)), None)
    for end, output in zip((target, changed), outputs):
        known = np.swapaxes(widened(source), 0, 1), np.swapaxes(widened(end), 0, 1)
        expected = np.swapaxes(translate(*known, weights, heads, (1, 2), closed), 0, 1)
        trial.close(output, expected, dtype="float32", **TOLERANCES["float32"])
    first, second = (trial.numpy(output) for output in outputs)
    trial.close(second[:6], first[:6], rtol=0, atol=1e-6)
    trial.check((abs(second[6:] - first[6:]) > 1e-4).mean() > 0.9, "the end does not depend on itself")


def transformer_mask(trial: Trial, size: int, dtype: str) -> None:
    """The causal mask is -inf above the diagonal and zero elsewhere."""
    model = trial.make(4, 2, 1, 1, 4, device=trial.device, dtype=trial.dtype(dtype))
    mask = trial.call_method(model, "generate_square_subsequent_mask", size)
    trial.exact(mask, np.where(np.triu(np.ones((size, size), bool), 1), -np.inf, 0), dtype="float32")


def transformer_dropout(trial: Trial, width: int, heads: int) -> None:
    """In training dropout makes every call different; evaluation matches the formula without dropout."""
    model = trial.make(width, heads, 1, 1, 2 * width, 0.5, device=trial.device, batch_first=True)
    rates = [module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    trial.equal(rates + [module.dropout for module in model.modules() if hasattr(module, "out_proj")], [0.5] * 10)
    weights = filled(trial, model, "float32", bound=0.6)
    source, target = trial.random(6, 7, width, seed=1), trial.random(6, 5, width, seed=2)
    tensors = trial.tensor(source), trial.tensor(target)
    expected = translate(widened(source), widened(target), weights, heads, (1, 1), (None, None, None))
    trial.repeatable = False  # Only the evaluation gets a steady time.
    trained = [trial.numpy(trial.call_method(model, "__call__", *tensors)) for _ in range(2)]
    trial.repeatable = True
    found = trial.call_method(model.eval(), "__call__", *tensors)
    trial.close(found, expected, dtype="float32", **TOLERANCES["float32"])
    for label, other in (("the formula without dropout", expected), ("the call before", trained[0])):
        trial.equal(list(trained[1].shape), list(other.shape))
        far = float(np.mean(abs(trained[1] - other) > 1e-3))
        trial.check(far > 0.9, f"only {far:.2f} of the values in training differ from {label}")
    normed = (trained[1] - weights["decoder.norm.bias"]) / weights["decoder.norm.weight"]
    trial.close(normed.mean(-1), np.zeros((6, 5)), rtol=0, atol=1e-3)
    trial.close((normed**2).mean(-1), np.ones((6, 5)), rtol=0, atol=1e-2)


def transformer_new(trial: Trial, width: int, heads: int, layers: Sequence[int], hidden: int) -> None:
    """A new model has the documented layers, uniform matrices within Xavier's bound, and normalizations with weight
    one and bias zero; and it normalizes its output."""
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
    expected = translate(*known_inputs, weights, heads, layers, (None, None, None))
    trial.close(output, np.swapaxes(expected, 0, 1), dtype="float32", **TOLERANCES["float32"])
