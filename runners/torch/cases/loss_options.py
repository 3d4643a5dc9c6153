"""Losses: the older names of options, gradients at special places, and states, compared with NumPy."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

import numpy as np
import scipy.special
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.losses import _check, _cross_entropy, _log_probabilities, _smooth


def _losses(name: str, x: Any, target: Any) -> Any:
    if name == "kl_div":
        return scipy.special.xlogy(target, target) - target * x
    return _cross_entropy(x, target)[0] if name == "bce_with_logits" else _smooth(x - target, 1.0)[0]


def older_options(trial: Trial, name: str, **options: bool) -> None:
    """size_average and reduce, which reduction replaces, still choose the sum, the mean, or no reduction."""
    x, target = (trial.random(5, 33, seed=seed, low=0.1, high=0.9) for seed in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = trial.make(**options)
        output = trial.call_method(module, "__call__", trial.tensor(x), trial.tensor(target))
    reduction = "none" if not options.get("reduce", True) else "mean" if options.get("size_average", True) else "sum"
    _check(trial, output, _losses(name, widened(x), widened(target)), reduction, "float32")


def kl_div_zero_gradients(trial: Trial, dtype: str) -> None:
    """The gradient of an input whose target is zero is zero, not NaN, also where the input is -inf."""
    x, target = (_log_probabilities(trial, (7, 9), seed, dtype) for seed in (1, 2))
    target = np.exp(target)
    target[::2, 1::3] = 0
    down = trial.random(7, 9, dtype=dtype, seed=3)
    tensor = trial.tensor(x).requires_grad_()
    output = trial.call_method(trial.make(reduction="none"), "__call__", tensor, trial.tensor(target))
    (output * trial.tensor(down)).sum().backward()
    _check(trial, output, _losses("kl_div", widened(x), widened(target)), "none", dtype)
    trial.close(tensor.grad, -widened(target) * widened(down), dtype=dtype)


def bce_with_logits_state(trial: Trial) -> None:
    """Both weights are buffers: they are in the state, another module loads them, and a conversion reaches them."""
    x, target = trial.random(4, 3, dtype="float64", seed=1), trial.random(4, 3, dtype="float64", seed=2, low=0, high=1)
    weights = [trial.random(3, dtype="float64", seed=seed, low=0.5, high=3) for seed in (3, 4)]
    module = trial.make(trial.tensor(weights[0]), pos_weight=trial.tensor(weights[1]), reduction="sum")
    trial.equal(sorted(module.state_dict()), ["pos_weight", "weight"])
    trial.equal(len(list(module.parameters())), 0)
    ones = trial.tensor(np.ones(3, "float32"))
    other = trial.make(weight=ones, reduction="sum", pos_weight=ones.clone()).double()
    other.load_state_dict(module.state_dict())
    output = trial.call_method(other, "__call__", trial.tensor(x), trial.tensor(target))
    trial.close(output, _cross_entropy(x, target, *weights)[0].sum(), dtype="float64")


def smooth_l1_slopes(
    trial: Trial, inputs: Sequence[Any], targets: Sequence[float], expected: Sequence[Any], beta: float, dtype: str
) -> None:
    """At the joints of the pieces, at zero and at values that are not finite (written as text) the gradient of the
    input is the stated one, and that of the target its negative."""
    x, target = (
        trial.tensor([float(value) for value in values], dtype).requires_grad_() for values in (inputs, targets)
    )
    output = trial.call_method(trial.make(reduction="sum", beta=beta), "__call__", x, target)
    trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, []])
    output.backward()
    slopes = np.array([float(value) for value in expected])
    trial.close(x.grad, slopes, dtype=dtype)
    trial.close(target.grad, -slopes, dtype=dtype)


def smooth_l1_broadcast_gradients(trial: Trial, dtype: str, reduction: str) -> None:
    """A target of another shape is repeated, and gets the sum of the gradients of its places."""
    x, target = trial.random(7, 5, dtype=dtype, seed=1), trial.random(5, dtype=dtype, seed=2)
    tensors = trial.tensor(x, layout="transposed").requires_grad_(), trial.tensor(target).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of targets of another shape.
        output = trial.call_method(trial.make(reduction=reduction, beta=0.7), "__call__", *tensors)
    output.backward()
    loss, slope = _smooth(widened(x) - widened(target), 0.7)
    share = 35 if reduction == "mean" else 1
    _check(trial, output, loss, reduction, dtype)
    trial.close(tensors[0].grad, slope / share, dtype=dtype)
    trial.close(tensors[1].grad, -slope.sum(0) / share, dtype=dtype)


def mixed_dtypes(
    trial: Trial, name: str, dtypes: Sequence[str], result: str, reduction: str = "mean", gradients: bool = True
) -> None:
    """The loss of an input and a target of different dtypes has the dtype that holds both, and the input's gradient has
    that of the input (``gradients``)."""
    x, target = (trial.random(6, 5, dtype=dtype, seed=seed, low=1, high=9) for seed, dtype in enumerate(dtypes))
    tensors = [trial.tensor(values).requires_grad_(values.dtype.kind == "f") for values in (x, target)]
    output = trial.call_method(trial.make(reduction=reduction), "__call__", *tensors)
    x, target = widened(x), widened(target)
    _check(trial, output.to(torch.float32), _losses(name, x, target), reduction, "float32")
    trial.equal(trial.dtype_name(output), result)
    if not gradients:
        return
    output.sum().backward()
    slope = {
        "kl_div": lambda: -target,
        "bce_with_logits": lambda: _cross_entropy(x, target)[1],
        "smooth_l1": lambda: _smooth(x - target, 1.0)[1],
    }[name]()
    allowed = {"rtol": 1.3e-6, "atol": 1e-5}  # Some of the work is done in float32.
    trial.close(tensors[0].grad, slope / (30 if reduction == "mean" else 1), dtype=dtypes[0], **allowed)
