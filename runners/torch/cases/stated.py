"""Values and gradients that are stated in the manifest, for special inputs, weights and options."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import scipy.special
import torch

from runners.core.public import names
from runners.core.testing.arrays import widened
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


def values(
    trial: Trial,
    args: Sequence[Any],
    expected: Any,
    dtype: str,
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
    options: Mapping[str, Any] = {},
    parameters: Mapping[str, Any] = {},
    slopes: Sequence[Any] = (),
    training: bool = True,
    tolerance: Mapping[str, float] = {},
    above: Any = None,
) -> None:
    """A call, or that of an instance, gives the stated values. The arguments, or the elements of lists, get the stated
    gradients (``slopes``, null for one that needs none) for what comes from ``above``, or for ones.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones, and gets the
    values of ``parameters``. Numbers that JSON lacks are written as text.
    """
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    leaves = [leaf for argument in given for leaf in (argument if isinstance(argument, (list, tuple)) else [argument])]
    for argument, slope in zip(leaves, slopes):
        if slope is not None:
            argument.requires_grad_()
    if made is None:
        output = trial.call(*given, **{key: item.device for key, item in builder.named(options).items()})
    else:
        extra = {key: item.device for key, item in builder.named(named).items()}
        module = trial.make(*(item.device for item in builder.all(made)), **extra).to(trial.device).train(training)
        for name, numbers in parameters.items():
            with torch.no_grad():
                module.get_parameter(name).copy_(trial.tensor(_numbers(numbers), dtype))
        output = trial.call_method(module, "__call__", *given)
    output = output[0] if isinstance(output, tuple) else output
    trial.close(output, _numbers(expected), dtype=dtype, **tolerance)
    if any(slope is not None for slope in slopes):
        output.backward(torch.ones_like(output) if above is None else trial.tensor(_numbers(above), dtype))
    for argument, slope in zip(leaves, slopes):
        if slope is not None:
            trial.close(argument.grad, _numbers(slope), dtype=trial.dtype_name(argument) or "", **tolerance)


def _numbers(given: Any) -> Any:
    return np.array(given).astype("float64")


def gelu_tail(trial: Trial, dtype: str) -> None:
    """Where the normal distribution function is small, GELU is small too, but not zero before its digits end."""
    lowest, allowed = {"float32": (-5.5, 1.2e-6), "float64": (-8.0, 2e-15)}[dtype]
    x = trial.random(9, 129, dtype=dtype, seed=1, low=lowest, high=-2)
    output = trial.call_method(trial.make(), "__call__", trial.tensor(x))
    trial.close(output, widened(x) * scipy.special.ndtr(widened(x)), rtol=3e-6, atol=allowed, dtype=dtype)
