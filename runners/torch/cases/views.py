"""Functions that move, repeat or describe elements without computing new values."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.compare import check_signs_of_zeros
from runners.core.testing.trial import Trial
from runners.torch.cases.math import seen


def moved_gradient(
    trial: Trial,
    shape: Sequence[int],
    numpy: str,
    args: Sequence[Any] = (),
    dtype: str = "float32",
    layout: str = "contiguous",
) -> None:
    """Each input element gets the sum of the gradients of its places in the output.

    The NumPy function of the same name, applied to the elements' numbers, defines where each element goes.
    """
    values = trial.random(*shape, dtype=dtype, seed=1)
    # Number 0 means a place that no element is moved to.
    numbers = np.arange(1, values.size + 1).reshape(values.shape)
    origin = references.find("numpy", numpy)(numbers, *args)
    weights = trial.random(*origin.shape, dtype=dtype, seed=2)
    tensor = trial.tensor(values, dtype, layout).requires_grad_()
    output = trial.call(tensor, *args)
    (output * trial.tensor(weights)).sum().backward()
    trial.close(output, np.concatenate([[0], values.ravel()])[origin], dtype=dtype)
    expected = np.bincount(origin.ravel(), weights.ravel(), values.size + 1)[1:]
    trial.close(tensor.grad, expected.reshape(values.shape), dtype=dtype)


def of_lazy(trial: Trial, shape: Sequence[int], numpy: str, dtype: str, args: Sequence[Any] = ()) -> None:
    """A conjugated tensor and its imaginary part, which PyTorch conjugates or negates only when they are read, give
    what their values give."""
    values = trial.random(*shape, dtype=dtype, seed=1).conj()
    lazy = trial.tensor(values.conj(), dtype).conj()
    for tensor, host in ((lazy, values), (lazy.imag, values.imag)):
        output = trial.call(tensor, *args)
        trial.close(output, references.find("numpy", numpy)(widened(host), *args), dtype=host.dtype.name)


def is_view(
    trial: Trial, shape: Sequence[int], args: Sequence[Any], origin: Sequence[int], place: Sequence[int]
) -> None:
    """The output shares its memory with the input: a number written into one is visible in the other."""
    tensor = trial.tensor(trial.random(*shape, seed=3))
    output = trial.call(tensor, *args)
    output = output[place[0]] if isinstance(output, tuple) else output
    place = place[1:] if output.dim() < len(place) else place
    tensor[tuple(origin)] = 7.5
    trial.equal(output[tuple(place)].item(), 7.5)
    output[tuple(place)] = -2.5
    trial.equal(tensor[tuple(origin)].item(), -2.5)


def is_copy(trial: Trial, shape: Sequence[int], in_list: bool = False) -> None:
    """An output that equals the input has memory of its own: a write to it leaves the input unchanged."""
    values = trial.random(*shape, seed=3)
    tensor = trial.tensor(values)
    output = trial.call([tensor] if in_list else tensor)
    trial.exact(output, values, "float32")
    output.fill_(7.5)
    trial.exact(tensor, values, "float32")


def broadcast(
    trial: Trial,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    layout: str = "contiguous",
    repeats: int = 1,
) -> None:
    """Each tensor is repeated to the common shape and keeps its dtype. ``repeats``: how many tensors of each shape and
    dtype there are."""
    shapes, dtypes = [*shapes] * repeats, [*dtypes] * repeats
    arrays = [trial.random(*shape, dtype=dtype, seed=seed) for seed, (shape, dtype) in enumerate(zip(shapes, dtypes))]
    tensors = [trial.tensor(array, dtype, layout) for array, dtype in zip(arrays, dtypes)]
    outputs = trial.call(*tensors)
    trial.equal(len(outputs), len(tensors))
    common = np.broadcast_shapes(*map(tuple, shapes))
    for output, array, tensor, dtype in zip(outputs, arrays, tensors, dtypes):
        trial.close(output, np.broadcast_to(seen(trial, array, tensor), common), dtype=dtype)


def broadcast_gradients(trial: Trial, dtype: str) -> None:
    """Each tensor's gradient is summed over the places that its elements are repeated to."""
    first, second = trial.random(4, 1, dtype=dtype, seed=1), trial.random(2, 1, 3, dtype=dtype, seed=2)
    weights = trial.random(2, 2, 4, 3, dtype=dtype, seed=3)
    tensors = [trial.tensor(values).requires_grad_() for values in (first, second)]
    outputs = trial.call(*tensors)
    sum((output * trial.tensor(w)).sum() for output, w in zip(outputs, weights)).backward()
    for output, values in zip(outputs, (first, second)):
        trial.close(output, np.broadcast_to(values, (2, 4, 3)), dtype=dtype)
    trial.close(tensors[0].grad, weights[0].sum((0, 2))[:, None], dtype=dtype)
    trial.close(tensors[1].grad, weights[1].sum(1, keepdims=True), dtype=dtype)


def broadcast_views(trial: Trial) -> None:
    """The outputs are views: a repeated element has one place in memory, and a change of an input is visible."""
    column, row = trial.tensor(trial.random(4, 1, seed=1)), trial.tensor(trial.random(3, seed=2))
    outputs = trial.call(column, row, column)
    for output, given in zip(outputs, (column, row, column)):
        trial.equal(output.data_ptr(), given.data_ptr())
    trial.equal([output.stride() for output in outputs], [(1, 0), (0, 1), (1, 0)])
    column[2, 0], row[1] = 7.5, -2.5
    for output in (outputs[0], outputs[2]):
        trial.equal(output[2], np.full(3, 7.5, "float32"))
    trial.equal(outputs[1][:, 1], np.full(4, -2.5, "float32"))


def broadcast_gradients_of_one(trial: Trial, dtype: str) -> None:
    """A tensor that is given twice, once transposed, gets the sum of its gradients."""
    values, weights = trial.random(3, 1, dtype=dtype, seed=1), trial.random(2, 3, 3, dtype=dtype, seed=2)
    tensor = trial.tensor(values).requires_grad_()
    outputs = trial.call(tensor, tensor.T)
    sum((output * trial.tensor(w)).sum() for output, w in zip(outputs, weights)).backward()
    for output, part in zip(outputs, (values, values.T)):
        trial.exact(output, np.broadcast_to(part, (3, 3)), dtype=dtype)
    trial.close(tensor.grad, weights[0].sum(1, keepdims=True) + weights[1].sum(0)[:, None], dtype=dtype)


def unbind(
    trial: Trial,
    shape: Sequence[int],
    dtype: str,
    dim: int = 0,
    layout: str = "contiguous",
    special: str | None = None,
) -> None:
    """The output is a tuple of the slices along a dimension, in order and without that dimension."""
    values = trial.random(*shape, dtype=dtype, seed=1, special=special)
    tensor = trial.tensor(values, dtype, layout)
    outputs = trial.call(tensor, dim=dim) if dim else trial.call(tensor)
    trial.check(type(outputs) is tuple, f"expected a tuple, got {type(outputs).__name__}")
    expected = np.moveaxis(seen(trial, values, tensor), dim, 0)
    trial.equal(len(outputs), len(expected))
    for output, part in zip(outputs, expected):
        trial.close(output, part, dtype=dtype)
        if special == "edges":
            check_signs_of_zeros(trial.numpy(output), part)


def unbind_gradient(trial: Trial, dtype: str, dim: int = 1, layout: str = "contiguous") -> None:
    """The gradients of the slices are combined in the input; an unused slice gives zeros."""
    values, weights = (trial.random(3, 4, 5, dtype=dtype, seed=seed) for seed in (1, 2))
    tensor = trial.tensor(values, dtype, layout).requires_grad_()
    outputs = trial.call(tensor, dim)
    # Views of the host arrays, one for each slice.
    parts, slopes = np.moveaxis(values, dim, 0), np.moveaxis(weights, dim, 0)
    slopes[2] = 0
    terms = [(output * trial.tensor(slope)).sum() for output, slope in zip(outputs, slopes)]
    sum(term for number, term in enumerate(terms) if number != 2).backward()
    trial.equal((type(outputs), len(outputs)), (tuple, len(parts)))
    for output, part in zip(outputs, parts):
        trial.close(output, part, dtype=dtype)
    trial.close(tensor.grad, weights, dtype=dtype)


def same_size(
    trial: Trial, shapes: Sequence[Sequence[int]], dtypes: Sequence[str], same: bool, layout: str = "contiguous"
) -> None:
    """The result is True for tensors of the same shape, else False, for any dtypes and either order."""
    one, other = (
        trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout) for shape, dtype in zip(shapes, dtypes)
    )
    for pair in ((one, other), (other, one)):
        found = trial.call(*pair)
        trial.check(found is same, f"expected {same}, got {found!r}")


def same_size_of_found(trial: Trial) -> None:
    """Sizes that depend on the values are compared too."""
    values = np.array([0.0, 1.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0], "float32")
    tensor = trial.tensor(values)
    found = tensor.nonzero()
    for other, same in ((np.zeros((4, 1)), True), (np.zeros((3, 1)), False), (np.zeros(4), False)):
        answer = trial.call(found, trial.tensor(other))
        trial.check(answer is same, f"{list(np.shape(other))}: expected {same}, got {answer!r}")


def size(trial: Trial, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> None:
    """The size is a torch.Size of the lengths; for one dimension, counted from either end, it is a plain int."""
    tensor = trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout)
    _check_size(trial, trial.call(tensor), shape)
    for dim, length in enumerate(shape):
        for place in (dim, dim - len(shape)):
            _check_length(trial, trial.call(tensor, place), length)
            _check_length(trial, trial.call(tensor, dim=place), length)


def size_of_view(trial: Trial) -> None:
    """A transposed, sliced, expanded or reshaped tensor has the size of the view."""
    tensor = trial.tensor(trial.random(4, 6, 1))
    for view, shape in (
        (tensor.transpose(0, 1), [6, 4, 1]),
        (tensor[1:, ::4], [3, 2, 1]),
        (tensor.expand(2, 4, 6, 5), [2, 4, 6, 5]),
        (tensor.reshape(-1, 3), [8, 3]),
        (tensor[0, 0, 0], []),
    ):
        _check_size(trial, trial.call(view), shape)
    _check_length(trial, trial.call(tensor.transpose(0, 1), 0), 6)
    # The same tensor after changes in place.
    tensor = trial.tensor(trial.random(4, 6))
    for change, shape in ((tensor.t_, [6, 4]), (lambda: tensor.unsqueeze_(1), [6, 1, 4]), (tensor.squeeze_, [6, 4])):
        change()
        _check_size(trial, trial.call(tensor), shape)
        _check_length(trial, trial.call(tensor, -1), shape[-1])


def size_of_found(trial: Trial, length: int) -> None:
    """If the length of a result depends on the values, the size is the length that was found."""
    values = trial.random(length, seed=1)
    tensor = trial.tensor(values)
    count = int((values > 0.5).sum())
    _check_size(trial, trial.call(tensor[tensor > 0.5]), [count])
    _check_length(trial, trial.call((tensor > 0.5).nonzero(), 0), count)
    repeated = trial.tensor(np.array([3, 1, 3, 3, 2, 1]))
    _check_size(trial, trial.call(torch.unique(repeated)), [3])


def _check_size(trial: Trial, found: Any, expected: Sequence[int]) -> None:
    good = isinstance(found, torch.Size) and list(found) == list(expected)
    trial.check(good, f"expected the size {list(expected)}, got {found!r}")


def _check_length(trial: Trial, found: Any, expected: int) -> None:
    trial.check(type(found) is int and found == expected, f"expected the length {expected}, got {found!r}")
