"""Functions that take an axis, called with every axis of tensors with many axes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def every_axis(
    trial: Trial,
    shapes: Sequence[Sequence[int]],
    numpy: str,
    dtype: str = "float32",
    result: str | None = None,
    then: Sequence[Any] = (),
    parts: int = 0,
    added: int = 0,
    linear: bool = True,
) -> None:
    """Each axis, counted from either end, is the one that NumPy means, also where axes have the length one.

    ``then``: arguments after the axis. ``parts``: how many tensors are given in a list. ``added``: how many axes the
    output has more than the input. ``linear``: a gradient that is 1 everywhere gives each element the number of its
    places in the output.
    """
    reference = references.find("numpy", numpy)
    for shape in shapes:
        count = len(shape) + added
        for axis in range(-count, count):
            arrays = [trial.random(*shape, dtype=dtype, seed=seed) for seed in range(max(parts, 1))]
            tensors = [trial.tensor(values).requires_grad_(linear) for values in arrays]
            output = trial.call(tensors if parts else tensors[0], axis, *then)
            exact = [widened(values) for values in arrays]
            expected = np.asarray(reference(exact if parts else exact[0], axis, *then))
            output = torch.stack(output) if isinstance(output, tuple) else output
            trial.close(output, expected, dtype=result or dtype)
            if linear:
                output.sum().backward()
                for tensor in tensors:
                    trial.exact(tensor.grad, np.ones(shape), dtype)
