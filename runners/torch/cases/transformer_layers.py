"""torch.nn.TransformerEncoderLayer, compared with the formula in NumPy."""

from __future__ import annotations

import contextlib
from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import QUOTIENTS, Arrays, filled, slopes
from runners.torch.cases.transformer_reference import (
    TOLERANCES,
    attention_bias,
    encode,
    formula_options,
    make_masks,
    mask_by_head,
    swap_batch,
)


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
    by_head: bool = False,
    special: str | None = None,
    **options: Any,
) -> None:
    """Every position attends to those that the masks allow, followed by two linear layers; both are added to their
    input and normalized. Evaluation and training without dropout agree, with and without recorded gradients.

    ``lengths``: the positions, and the batch size if there is a batch; ``padding``: how many positions at the end of
    each sequence are padding. With ``by_head`` each head of each sequence has a mask of its own.
    """
    made = {"dim_feedforward": width + 3, "dropout": 0.0 if training else 0.3, **_made(options)}
    layer = trial.make(width, heads, device=trial.device, dtype=trial.dtype(dtype), **made).train(training)
    weights = filled(trial, layer, dtype, bound=0.6)
    x = trial.tensor(trial.random(*lengths, width, dtype=dtype, seed=1, special=special), dtype, layout)
    rows = len(lengths) == 2 and not options.get("batch_first", False)
    length = lengths[0] if rows or len(lengths) == 1 else lengths[1]
    masks = make_masks(length, mask, padding)
    if by_head:
        masks = (mask_by_head(masks[0], lengths[1] if rows else lengths[0], heads), masks[1])
    named = {
        # The masks of all heads of all sequences are one axis.
        name: trial.tensor(
            values.reshape(-1, *values.shape[-2:]) if values.ndim == 4 else values,
            None if values.dtype == bool else dtype,
        )
        for name, values in (("src_mask", masks[0]), ("src_key_padding_mask", masks[1]))
        if values is not None
    }
    with contextlib.nullcontext() if gradients else torch.no_grad():
        output = trial.call_method(layer, "__call__", x, **named)
    known = widened(trial.numpy(x))
    expected = swap_batch(
        encode(swap_batch(known, rows), weights, "", heads, attention_bias(masks), **formula_options(options)), rows
    )
    # Of inputs of about 1,000 the small differences from the mean have four digits.
    allowed = {"rtol": 1e-4, "atol": 5e-3} if special == "offset" else TOLERANCES.get(dtype, {})
    trial.close(output, expected, dtype=dtype, **allowed)


def encoder_layer_gradients(
    trial: Trial,
    lengths: Sequence[int],
    width: int,
    heads: int,
    dtype: str,
    mask: str | None = None,
    padding: Sequence[int] | None = None,
    **options: Any,
) -> None:
    """The gradients of input and parameters match the derivatives of the formula."""
    options = {"activation": "gelu", "batch_first": True, **options}
    made = {"dim_feedforward": 5, "dropout": 0.0, "device": trial.device, "dtype": trial.dtype(dtype)}
    layer = trial.make(width, heads, **made, **_made(options))
    weights = filled(trial, layer, dtype, bound=0.6)
    x, down = (trial.random(*lengths, width, dtype=dtype, seed=seed) for seed in (1, 7))
    tensor = trial.tensor(x).requires_grad_()
    rows = len(lengths) == 2 and not options["batch_first"]
    masks = make_masks(lengths[0] if rows else lengths[-1], mask, padding)
    kinds = [None if values is None or values.dtype == bool else dtype for values in masks]
    given = [None if values is None else trial.tensor(values, kind) for values, kind in zip(masks, kinds)]
    output = trial.call_method(layer, "__call__", tensor, *given)
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        known = swap_batch(at["x"], rows)
        return swap_batch(encode(known, at, "", heads, attention_bias(masks), **formula_options(options)), rows)

    point = {**weights, "x": widened(x)}
    trial.close(output, computed(point), dtype=dtype, **TOLERANCES.get(dtype, {}))
    expected = slopes(lambda at: float((computed(at) * down).sum()), point)
    allowed = {"rtol": 1e-5, "atol": 5e-5} if dtype == "float32" else QUOTIENTS.get(dtype, {})
    for name, leaf in [("x", tensor), *layer.named_parameters()]:
        trial.close(leaf.grad, expected[name], dtype=dtype, **allowed)


def encoder_layer_new(trial: Trial, width: int, heads: int) -> None:
    """A new layer has 2,048 hidden features, drops a tenth, has uniform weights within their bounds, and normalizations
    with weight one and bias zero; each layer has draws of its own."""
    layer, other = (trial.make(width, heads, device=trial.device) for _ in range(2))
    trial.equal([part.p for part in layer.modules() if isinstance(part, torch.nn.Dropout)], [0.1] * 3)
    attention, hidden = (6 / (4 * width)) ** 0.5, 2048
    shapes = {
        "self_attn.in_proj_weight": ([3 * width, width], attention),
        "self_attn.in_proj_bias": ([3 * width], 0.0),
        "self_attn.out_proj.weight": ([width, width], width**-0.5),
        "self_attn.out_proj.bias": ([width], 0.0),
        "linear1.weight": ([hidden, width], width**-0.5),
        "linear1.bias": ([hidden], width**-0.5),
        "linear2.weight": ([width, hidden], hidden**-0.5),
        "linear2.bias": ([width], hidden**-0.5),
    }
    for (name, parameter), second in zip(layer.named_parameters(), other.parameters()):
        values = trial.numpy(parameter)
        shape, bound = shapes.get(name, ([width], 0.0))
        trial.equal((trial.dtype_name(parameter), list(values.shape)), ("float32", shape))
        if not bound:
            trial.exact(parameter, np.full(shape, float("norm" in name and name.endswith("weight"))), "float32")
            continue
        largest, spread = float(np.abs(values).max()), float(values.std()) * 3**0.5
        trial.check(0.8 * bound <= largest <= 1.0001 * bound, f"{name} reaches {largest:.3g}, expected {bound:.3g}")
        trial.check(abs(spread / bound - 1) < 0.3, f"{name} spreads over {spread:.3g}, expected {bound:.3g}")
        trial.check((values != trial.numpy(second)).mean() > 0.9, f"the next layer has the same {name}")
    x = trial.random(5, 3, width, seed=1)
    output = trial.call_method(layer.eval(), "__call__", trial.tensor(x))
    weights = {name: widened(trial.numpy(parameter)) for name, parameter in layer.named_parameters()}
    expected = swap_batch(encode(swap_batch(widened(x), True), weights, "", heads, None), True)
    trial.close(output, expected, dtype="float32", **TOLERANCES["float32"])


def _made(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the layer: an activation that has no name there is given as a function."""
    function = {"tanh": torch.tanh}.get(options.get("activation", ""))
    return {**options, "activation": function} if function else dict(options)


def encoder_layer_dropout(trial: Trial, width: int, heads: int) -> None:
    """In training dropout makes every call different; evaluation matches the formula without dropout."""
    layer = trial.make(width, heads, 2 * width, 0.5, device=trial.device)
    weights = filled(trial, layer, "float32", bound=0.6)
    x = trial.random(12, 6, width, seed=1)
    tensor = trial.tensor(x)
    expected = np.swapaxes(encode(np.swapaxes(widened(x), 0, 1), weights, "", heads, None), 0, 1)
    trial.repeatable = False  # Only the evaluation gets a steady time.
    trained = [trial.numpy(trial.call_method(layer, "__call__", tensor)) for _ in range(2)]
    trial.repeatable = True
    trial.close(trial.call_method(layer.eval(), "__call__", tensor), expected, dtype="float32", **TOLERANCES["float32"])
    for label, other in (("the formula without dropout", expected), ("the call before", trained[0])):
        trial.equal(list(trained[1].shape), list(other.shape))
        far = float(np.mean(abs(trained[1] - other) > 1e-3))
        trial.check(far > 0.9, f"only {far:.2f} of the values in training differ from {label}")
    # The last step is a normalization: for each position, the values without weight and bias have these moments.
    normed = (trained[1] - weights["norm2.bias"]) / weights["norm2.weight"]
    trial.close(normed.mean(-1), np.zeros((12, 6)), rtol=0, atol=1e-3)
    trial.close((normed**2).mean(-1), np.ones((12, 6)), rtol=0, atol=1e-2)
