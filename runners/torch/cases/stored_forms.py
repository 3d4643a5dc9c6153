"""Functions of tensors that are not plain memory: sparse ones, and views with a pending conjugation or sign."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial


def _sparse(places: Any, values: Any) -> Any:
    return torch.sparse_coo_tensor(places, values, (2, 2))


def address_of_lazy(trial: Trial) -> None:
    """A pending conjugation or sign, and a history, do not move a view: its address is that of the first element. A
    view without elements has address 0, a sparse tensor has none."""
    tensor = trial.tensor(trial.random(3, 4, dtype="complex64", seed=1)).requires_grad_()
    begin = tensor.storage().data_ptr()
    for view, offset in ((tensor.conj(), 0), (tensor[1].conj(), 32), (tensor.conj().imag, 4), (tensor[2:], 64)):
        found = trial.call(view)
        trial.check(type(found) is int and found == begin + offset, f"expected {begin + offset:#x}, got {found!r}")
    trial.equal(trial.call(tensor[1:1]), 0)
    trial.raises(["RuntimeError", "NotImplementedError"], "", tensor.detach().to_sparse())


def size_of_sparse(trial: Trial) -> None:
    """A sparse tensor has the size of the whole tensor, also where it has fewer or more entries."""
    dense = trial.tensor(np.array([[0, 2, 0], [3, 0, 0]], "float32"))
    for axes in (2, 1):
        sparse = dense.to_sparse(axes)
        found = trial.call(sparse)
        trial.equal([type(found) is torch.Size, list(found)], [True, [2, 3]])
        trial.equal([trial.call(sparse, axis) for axis in (0, -1)], [2, 3])


def saddmm_of_integers(trial: Trial) -> None:
    """Products and sums of int64 are exact beyond 2**53 and wrap round at 64 bits; the result is sparse."""
    places, large = trial.tensor(np.array([[0, 1], [0, 1]])), 2**53 + 1
    added, left = (trial.tensor(np.array(each)) for each in ([5, -(2**62)], [3, 4]))
    right = trial.tensor(np.array([[large, -1], [2**33 + 1, 2**60]]))
    found = trial.call(_sparse(places, added), _sparse(places, left), right)
    trial.check(found.is_sparse, "the result is not sparse")
    trial.exact(found.to_dense(), np.array([[3 * large + 5, -3], [4 * (2**33 + 1), 0]]), "int64")


def saddmm_refuses(trial: Trial) -> None:
    """A dense first matrix, a sparse second one, another dtype and a fraction as beta of integers raise an error."""
    places = trial.tensor(np.array([[0, 1], [0, 1]]))
    values, whole = trial.tensor(np.ones(2, "float32")), trial.tensor(np.ones(2, "int64"))
    dense = trial.tensor(np.eye(2, dtype="float32"))
    sparse, integers = _sparse(places, values), _sparse(places, whole)
    for args, factors in (
        ((sparse, dense, dense), {}),
        ((sparse, sparse, sparse), {}),
        ((sparse, sparse, dense.double()), {}),
        ((integers, integers, dense.long()), {"beta": 0.5}),
    ):
        trial.raises(["RuntimeError", "NotImplementedError", "TypeError"], "", *args, **factors)


def wants_gradient(trial: Trial, args: Any, expected: Any) -> None:
    """A tensor that is created where gradients are off, or wanted by nothing before, wants one if asked for."""
    for mode in (torch.no_grad, torch.enable_grad):
        with mode():
            made = trial.call(*args, device=trial.device, requires_grad=True)
            other = trial.call(*args, device=trial.device)
        trial.equal([made.requires_grad, made.is_leaf, other.requires_grad], [True, True, False])
        (made * 3).sum().backward()
        trial.exact(made.detach(), np.array(expected), "float32")
        trial.exact(made.grad, np.full(made.shape, 3.0), "float32")


def unsqueezed(trial: Trial, shape: Sequence[int], axis: int) -> None:
    """A sparse matrix with one more axis is sparse, has the same stored values, and each at its place."""
    values = trial.random(*shape, seed=1)
    values[values < 0] = 0
    output = trial.call(trial.tensor(values).to_sparse(), axis)
    trial.check(output.is_sparse, "the output is not sparse")
    trial.equal(output._nnz(), np.count_nonzero(values))
    trial.exact(output.to_dense(), np.expand_dims(values, axis), "float32")


def to_of_sparse(trial: Trial, target: str) -> None:
    """A sparse tensor of another dtype is sparse, with the same places and the converted values."""
    dense = trial.tensor(np.array([[0, 2, 0], [3, 0, -1]], "float32"))
    for axes in (2, 1):
        sparse = dense.to_sparse(axes)
        moved = trial.call(sparse, trial.dtype(target))
        trial.check(moved.layout == torch.sparse_coo, f"the layout is {moved.layout}")
        trial.equal([moved.sparse_dim(), list(moved.shape)], [axes, [2, 3]])
        trial.exact(moved.coalesce().indices(), trial.numpy(sparse.coalesce().indices()), "int64")
        trial.exact(moved.coalesce().values(), trial.numpy(sparse.coalesce().values()), target)


def variable_of_sparse(trial: Trial) -> None:
    """A variable of a sparse tensor is sparse, is another tensor, and wants a gradient if asked for."""
    dense = trial.tensor(np.array([[0, 2, 0], [3, 0, -1]], "float32"))
    for wants in (True, False):
        sparse = dense.to_sparse()
        made = trial.call(sparse, requires_grad=wants)
        trial.equal([made.layout == torch.sparse_coo, made.requires_grad, sparse.requires_grad], [True, wants, False])
        trial.exact(made.detach().to_dense(), trial.numpy(dense), "float32")


def same_size_after_resize(trial: Trial) -> None:
    """The same two tensors have the same size or not as they are at the time of the call."""
    one, other = (trial.tensor(trial.random(2, 3, seed=seed)) for seed in (1, 2))
    trial.repeatable, trial.writes = False, True
    for shape, expected in (((2, 3), True), ((3, 2), False), ((6,), False), ((2, 3), True), ((2, 3, 1), False)):
        one.data = one.data.reshape(shape)
        for tensors in ((one, other), (other, one)):
            found = trial.call(*tensors)
            trial.check(found is expected, f"of the shape {shape} the result is {found!r}, expected {expected}")


def same_size_of_values(trial: Trial, dtype: str) -> None:
    """Neither values, NaN and infinities among them, nor whether a gradient is wanted count: the shapes alone do. The
    tensors keep their values."""
    special = {"b": [[True, False], [False, False]], "i": [[0, -1], [7, 0]], "f": [[np.nan, np.inf], [-np.inf, -0.0]]}
    kind = "b" if dtype == "bool" else "i" if dtype.startswith("int") else "f"
    arrays = [np.array(special[kind]), np.zeros((2, 2)), np.ones((2, 2))]
    tensors = [trial.tensor(array, dtype) for array in arrays]
    if kind == "f":
        tensors.append(trial.tensor(arrays[0], dtype).requires_grad_())
    for one in tensors:
        for other in tensors:
            found = trial.call(one, other)
            trial.check(found is True, f"expected True, got {found!r}")
            for each in (other[:1], other.reshape(4), other[None]):
                found = trial.call(one, each)
                trial.check(found is False, f"of the shape {list(each.shape)} the result is {found!r}, expected False")
    for tensor, array in zip(tensors, arrays):
        trial.exact(tensor, array, dtype)


def saddmm_by_keywords(trial: Trial) -> None:
    """Factors have all digits of float64, NaN and infinities of the first matrix stay, and the matrices can be given
    by keyword. Matrices with several entries for one place keep these. An output tensor of another size, with entries
    of its own, has only those of the result afterwards."""
    places = trial.tensor(np.array([[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]))
    given = np.array([np.nan, np.inf, 1.5, 0.25, -np.inf]), np.array([0.3, -1.7, 0.1, 0.2, 2.1])
    right = trial.random(2, 2, dtype="float64", seed=3)
    dense = [np.array([[each[0], each[4]], [each[1], each[2] + each[3]]]) for each in given]
    for beta, alpha, by_name in ((0.1, -0.7, True), (-1 / 3, 1e-9 + 1, False)):
        added, left = (_sparse(places, trial.tensor(each)) for each in given)
        expected = beta * dense[0] + alpha * (dense[1] @ right)
        for shape in (None, (2, 2), (3, 4)):
            out = None if shape is None else trial.tensor(np.ones(shape)).to_sparse()
            named = {} if out is None else {"out": out}
            trial.repeatable = False
            matrices = {"input": added, "mat1": left, "mat2": trial.tensor(right)}
            placed = [] if by_name else [matrices.pop(name) for name in ("input", "mat1", "mat2")]
            found = trial.call(*placed, **matrices, beta=beta, alpha=alpha, **named)
            trial.check(out is None or found is out, "the returned tensor is not the one given as out=")
            trial.close(found.to_dense(), expected, dtype="float64")
        for each, values in zip((added, left), given):
            trial.equal([each.is_coalesced(), each._nnz()], [False, 5])
            trial.exact(each._values(), values, "float64")
