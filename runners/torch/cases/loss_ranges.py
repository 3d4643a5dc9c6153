"""Losses of targets of another shape, and of values far from one, compared with NumPy."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.loss_options import _losses


def repeated_targets(trial: Trial, name: str, shapes: Sequence[Sequence[int]], dtype: str = "float64") -> None:
    """An input or a target of fewer elements is repeated; a mean is over all elements of the loss, and batchmean
    divides by the first axis of the input."""
    x, target = (trial.random(*shape, dtype=dtype, seed=seed, low=0.1, high=0.9) for seed, shape in enumerate(shapes))
    loss = _losses(name, widened(x), widened(target))
    expected = {"none": loss, "sum": loss.sum(), "mean": loss.mean()}
    if name == "kl_div":
        expected["batchmean"] = loss.sum() / len(x)
    trial.repeatable = False
    for reduction, values in expected.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of other shapes.
            output = trial.call_method(
                trial.make(reduction=reduction), "__call__", trial.tensor(x), trial.tensor(target)
            )
        trial.close(output, values, dtype=dtype, **({"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {}))


def kl_div_range(trial: Trial, log_target: bool, low: float, high: float, dtype: str) -> None:
    """Targets whose logarithms are between ``low`` and ``high`` give the loss with its relative precision."""
    x, logs = (
        trial.random(9, 33, dtype=dtype, seed=1, low=-9, high=-1),
        trial.random(9, 33, dtype=dtype, seed=2, low=low, high=high),
    )
    target = logs if log_target else np.exp(logs)
    output = trial.call_method(
        trial.make(reduction="none", log_target=log_target), "__call__", trial.tensor(x), trial.tensor(target, dtype)
    )
    x, target = widened(x), widened(target.astype(dtype))
    loss: Any = np.exp(target) * (target - x) if log_target else target * (np.log(target) - x)
    trial.close(output, loss, rtol=1e-12 if dtype == "float64" else 1e-5, atol=0, dtype=dtype)


_ELEMENTS = {
    "kl_div": (-7.0, 0.0, -7.0, 1.0, 7.0),
    "bce_with_logits": (-60.0, 0.0, 60.0, 0.0, 60.0),
    "smooth_l1": (2.5, 2.5, 2.5, -2.5, 4.5),
}
"""Input and target of a loss of zero, then of a loss of the last number."""


def every_element(trial: Trial, name: str, sizes: Sequence[int], dtype: str) -> None:
    """Of many elements one alone has a loss: the sum and the mean have it, wherever it is, and no other place."""
    x, target, large, other, loss = _ELEMENTS[name]
    trial.repeatable = False
    for size in sizes:
        for place in sorted({0, 1, size // 2, size - 2, size - 1}):
            arrays = np.full(size, x, dtype), np.full(size, target, dtype)
            arrays[0][place], arrays[1][place] = large, other
            tensors = [trial.tensor(each) for each in arrays]
            for reduction, expected in (("sum", loss), ("mean", loss / size)):
                output = trial.call_method(trial.make(reduction=reduction), "__call__", *tensors)
                trial.close(output, expected, rtol=1e-6, atol=0, dtype=dtype)
