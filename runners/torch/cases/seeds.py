"""Random functions and the seed of PyTorch's default generator. What the draws are like, other cases check."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from runners.core.public import names
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


def follows_seed(
    trial: Trial, args: Sequence[Any], made: Sequence[Any] | None = None, method: str = "__call__"
) -> None:
    """The same seed repeats the output, and another seed and the next call without one give another one.

    ``made``: the function is a class, whose instance is made of these arguments and draws in ``method``.
    """
    builder = Builder(trial, names.framework(trial.framework))
    trial.writes = True
    trial.repeatable = False
    instance = None if made is None else trial.make(*(item.device for item in builder.all(made)))
    if isinstance(instance, torch.nn.Module):
        instance.to(trial.device)
    outputs = []
    for seed in (5, None, 5, 6):
        given = [item.device for item in builder.all(args)]
        if seed is not None:
            torch.manual_seed(seed)
        output = trial.call(*given) if instance is None else trial.call_method(instance, method, *given)
        outputs.append(trial.numpy(output).copy())
    first, following, again, other = outputs
    trial.equal(again, first)
    trial.check(other.shape == first.shape, f"another seed gives the shape {other.shape}, not {first.shape}")
    trial.check((other != first).any(), "another seed gives the same output")
    trial.check((following != first).any(), "a second call gives the same output")
