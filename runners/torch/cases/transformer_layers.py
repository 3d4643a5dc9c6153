"""torch.nn.TransformerEncoderLayer, compared with the formula in NumPy."""

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
    encode,
    formula_options,
    make_masks,
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
    **options: Any,
) -> None:
    """Every position attends to those that the masks allow, followed by two linear layers; both are added to their
    input and normalized. Evaluation and training without dropout agree, with and without recorded gradients.

    ``lengths``: the positions, and the batch size if there is a batch; ``padding``: how many positions at the end of
    each sequence are padding.
    """
    made = {"dim_feedforward": width + 3, "dropout": 0.0 if training else 0.3, **options}
    layer = trial.make(width, heads, device=trial.device, dtype=trial.dtype(dtype), **made).train(training)
    weights = filled(trial, layer, dtype, bound=0.6)
    x = trial.tensor(trial.random(*lengths, width, dtype=dtype, seed=1), dtype, layout)
    rows = len(lengths) == 2 and not options.get("batch_first", False)
    length = lengths[0] if rows or len(lengths) == 1 else lengths[1]
    masks = make_masks(length, mask, padding)
    named = {
        name: trial.tensor(values, None if values.dtype == bool else dtype)
        for name, values in (("src_mask", masks[0]), ("src_key_padding_mask", masks[1]))
        if values is not None
    }
    with contextlib.nullcontext() if gradients else torch.no_grad():
        output = trial.call_method(layer, "__call__", x, **named)
    known = widened(trial.numpy(x))
    expected = swap_batch(
        encode(swap_batch(known, rows), weights, "", heads, attention_bias(masks), **formula_options(options)), rows
    )
    trial.close(output, expected, dtype=dtype, **TOLERANCES.get(dtype, {}))


def encoder_layer_gradients(trial: Trial, lengths: Sequence[int], width: int, heads: int, dtype: str) -> None:
    """The gradients of input and parameters match the derivatives of the formula."""
    layer = trial.make(width, heads, 5, 0.0, "gelu", device=trial.device, dtype=trial.dtype(dtype), batch_first=True)
    weights = filled(trial, layer, dtype, bound=0.6)
    x, down = (trial.random(*lengths, width, dtype=dtype, seed=seed) for seed in (1, 7))
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(layer, "__call__", tensor)
    (output * trial.tensor(down)).sum().backward()

    def computed(at: Arrays) -> Any:
        return encode(at["x"], at, "", heads, None, activation="gelu")

    point = {**weights, "x": widened(x)}
    trial.close(output, computed(point), dtype=dtype, **TOLERANCES.get(dtype, {}))
    expected = slopes(lambda at: float((computed(at) * down).sum()), point)
    allowed = {"rtol": 1e-5, "atol": 5e-5} if dtype == "float32" else QUOTIENTS.get(dtype, {})
    for name, leaf in [("x", tensor), *layer.named_parameters()]:
        trial.close(leaf.grad, expected[name], dtype=dtype, **allowed)


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
