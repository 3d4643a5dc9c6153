"""Calls with the same tensor, whose values change in between."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def between_calls(
    trial: Trial, args: Sequence[Any], later: Sequence[Any], options: Mapping[str, Any] = {}, dtype: str = "float32"
) -> None:
    """Each call gives what the values of its first tensor give at that time on the host, after they were written over,
    written through a view, written as data, and set back. ``later``: other values, of the ``dtype``."""
    trial.repeatable = False
    given, keywords = on_device(trial, args, options)
    tensor = given[0]
    first = trial.numpy(tensor).copy()
    for number, write in enumerate((None, tensor.copy_, tensor.view(-1).view_as(tensor).copy_, tensor.data.copy_)):
        if write is not None:
            write(trial.tensor(first if number == 2 else later, dtype))
        output = trial.call(*given, **keywords)
        with trial.on_host():
            host, named = on_device(trial, args, options)
            host[0].copy_(torch.as_tensor(trial.numpy(tensor)))
            expected = trial.function(*host, **named)
        found, wanted = list(tree.leaves(output)), list(tree.leaves(expected))
        trial.equal(len(found), len(wanted))
        for one, other in zip(found, wanted):
            trial.close(one, trial.numpy(other), dtype=trial.dtype_name(other) or "")
