"""Functions that move elements, and addr, with long sides, many tensors and many axes: values and gradients exactly."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def _parts(x: Any, axis: int = 0) -> Sequence[Any]:
    return [np.take(x, place, axis) for place in range(x.shape[axis])]


_REFERENCES: Mapping[str, Callable[..., Any]] = {
    "broadcast_tensors": np.broadcast_arrays,
    "cat": lambda *x, dim=0: np.concatenate(x, dim),
    "diag": np.diag,
    "fliplr": np.fliplr,
    "moveaxis": np.moveaxis,
    "unbind": _parts,
    "unsqueeze": np.expand_dims,
}


def exactly(
    trial: Trial,
    function: str,
    shapes: Sequence[Sequence[int]],
    dtype: str = "float32",
    args: Sequence[Any] = (),
    repeats: int = 1,
    view: bool = False,
) -> None:
    """Each element has a number of its own, so that the outputs say where it went; the gradient comes back the same
    way. The ``shapes`` are given ``repeats`` times. A ``view`` has the values that its input gets later."""
    trial.repeatable = not view
    inputs, count = [], 1
    for shape in [*shapes] * repeats:
        size = int(np.prod(shape, dtype=int))
        inputs.append(np.arange(count, count + size).reshape(shape))
        count += size
    tensors = [trial.tensor(values.astype(dtype)).requires_grad_() for values in inputs]
    given, _ = on_device(trial, args, {})
    if function == "cat":
        outputs, expected = trial.call(tensors, *given), _REFERENCES[function](*inputs, dim=given[0] if given else 0)
    else:
        outputs, expected = trial.call(*tensors, *given), _REFERENCES[function](*inputs, *given)
    if isinstance(outputs, torch.Tensor):
        outputs, expected = [outputs], [expected]
    trial.equal(len(outputs), len(expected))
    sums = np.zeros(count)
    above = []
    for number, (output, known) in enumerate(zip(outputs, expected)):
        trial.exact(output.detach(), known, dtype)
        above.append((np.arange(known.size).reshape(known.shape) + number) % 7 + 1.0)
        np.add.at(sums, known.ravel(), above[-1].ravel())
    torch.autograd.backward(list(outputs), [trial.tensor(values.astype(dtype)) for values in above])
    for tensor, numbers in zip(tensors, inputs):
        trial.exact(tensor.grad, sums[numbers], dtype)
    if view:
        with torch.no_grad():
            tensors[0].mul_(-1)
        for output, known in zip(outputs, expected):
            trial.exact(output.detach(), -known, dtype)


def addr_exactly(trial: Trial, rows: int, columns: int, dtype: str = "float32") -> None:
    """addr of small whole numbers, and the gradients of all three tensors, are exact for each length."""
    host = [np.arange(size) % base - 2.0 for size, base in ((rows * columns, 11), (rows, 5), (columns, 7))]
    host[0] = host[0].reshape(rows, columns)
    matrix, one, other = tensors = [trial.tensor(values.astype(dtype)).requires_grad_() for values in host]
    output = trial.call(matrix, one, other, beta=3, alpha=-2)
    trial.exact(output.detach() + 0, 3 * host[0] - 2 * np.outer(host[1], host[2]) + 0, dtype)
    above = (np.arange(rows * columns) % 3 - 1.0).reshape(rows, columns)
    output.backward(trial.tensor(above.astype(dtype)))
    expected = [3 * above, -2 * above @ host[2], -2 * host[1] @ above]
    for tensor, values in zip(tensors, expected):
        trial.exact(tensor.grad + 0, values + 0, dtype)
