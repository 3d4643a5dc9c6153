"""Creating tensors from sizes, ranges, permutations and host data, where a ``call`` test is not enough."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.distribution import check_categories, check_independent
from runners.core.testing.trial import Trial

_SIGMAS = 5.5
"""A correct generator is further away from its mean with a probability below one in twenty million."""


def zeros_are_writable(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """Each element has its own memory: a write to one place changes no other place and no later tensor."""
    made = trial.call(*shape, dtype=trial.dtype(dtype), device=trial.device)
    trial.close(made, np.zeros(shape), dtype=dtype)
    made[1, 2] = 5
    expected = np.zeros(shape)
    expected[1, 2] = 5
    trial.close(made, expected, dtype=dtype)
    trial.exact(trial.call(*shape, dtype=trial.dtype(dtype), device=trial.device), np.zeros(shape), dtype)
    trial.close(made, expected, dtype=dtype)


def follows_default_dtype(trial: Trial, args: Sequence[Any], value: Any, default: str = "float64") -> None:
    """Without a dtype the tensor has PyTorch's default dtype at the time of the call."""
    before = torch.get_default_dtype()
    trial.repeatable = False
    torch.set_default_dtype(trial.dtype(default))
    try:
        made = trial.call(*args, device=trial.device)
        wanted = trial.call(*args, device=trial.device, requires_grad=True)
    finally:
        torch.set_default_dtype(before)
    for found, wants in ((made, False), (wanted, True)):
        trial.equal([found.requires_grad, found.is_leaf], [wants, True])
        trial.close(found.detach(), value, dtype=default)


def is_leaf(trial: Trial, args: Sequence[Any], value: Any, dtype: str) -> None:
    """With requires_grad=True the tensor is a leaf that accumulates its gradient; without it is none."""
    options = {"dtype": trial.dtype(dtype), "device": trial.device}
    plain = trial.call(*args, **options)
    trial.equal(plain.requires_grad, False)
    made = trial.call(*args, **options, requires_grad=True)
    trial.check(made.is_leaf and made.requires_grad, "the tensor is not a leaf that requires a gradient")
    for found in (plain, made):
        trial.close(found, value, dtype=dtype)
    weights = trial.random(len(value), dtype=dtype)
    (made * trial.tensor(weights)).sum().backward()
    trial.close(made.grad, weights, dtype=dtype)


def zeros_require_grad(trial: Trial, dtype: str) -> None:
    """With requires_grad=True the tensor is a leaf that accumulates its gradient."""
    weights = trial.random(3, 4, dtype=dtype)
    made = trial.call((3, 4), dtype=trial.dtype(dtype), device=trial.device, requires_grad=True)
    trial.check(made.is_leaf and made.requires_grad, "the tensor is not a leaf that requires a gradient")
    trial.close(made, np.zeros((3, 4)), dtype=dtype)
    product = (made * trial.tensor(weights).conj()).sum()
    (product.real if product.is_complex() else product).backward()
    trial.close(made.grad, weights, dtype=dtype)


def zeros_of_size(trial: Trial, shapes: Sequence[Sequence[int]]) -> None:
    """The sizes can be those of another tensor, a tuple, a list or the keyword ``size``, in their order."""
    for shape in shapes:
        other = trial.tensor(np.ones(shape, "float32"))
        for args, named in (((other.size(),), {}), ((tuple(shape),), {}), ((list(shape),), {}), ((), {"size": shape})):
            trial.exact(trial.call(*args, **named, device=trial.device), np.zeros(shape), "float32")


def zeros_sparse(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """In the sparse layout no element is stored, and the dense form is all zeros."""
    made = trial.call(shape, dtype=trial.dtype(dtype), layout=torch.sparse_coo, device=trial.device)
    trial.check(made.is_sparse, "the tensor is not sparse")
    trial.equal((made._nnz(), list(made.shape)), (0, list(shape)))
    trial.close(made.to_dense(), np.zeros(shape), dtype=dtype)


def tensor_from_array(trial: Trial, dtype: str, layout: str = "C") -> None:
    """A NumPy array keeps its dtype, shape and values in any memory order. Later changes of the array do not show."""
    array = np.array(trial.random(5, 7, dtype=dtype), order=layout)  # type: ignore[call-overload]
    kept = array.copy()
    made = trial.call(array, device=trial.device)
    array[...] = 0
    trial.close(made, kept, dtype=dtype)


def tensor_of_slices(trial: Trial) -> None:
    """Of an array that is a part of another one, or is broadcast, only its own elements are taken."""
    whole = trial.random(6, 8, 4)
    parts = whole[1::2, ::3], whole.transpose(2, 0, 1)[1:], whole[2:3, :, 1], whole[:, 5, 0], whole[3, 3, 3:]
    for part in (*parts, np.broadcast_to(whole[0, :1], (3, 4))):
        trial.exact(trial.call(part, device=trial.device), part, "float32")


def tensor_of_nothing(trial: Trial) -> None:
    """Empty lists make a tensor of the default dtype in the shape of the lists."""
    for lists, shape in (([[], []], (2, 0)), ([], (0,))):
        trial.close(trial.call(lists, device=trial.device), np.zeros(shape), dtype="float32")


def tensor_from_tensor(trial: Trial, dtype: str) -> None:
    """A tensor is copied with its dtype: the copy has its own memory and no history, also if gradients are wanted."""
    values = trial.random(3, 4, dtype=dtype, seed=2)
    given = trial.tensor(values, layout="transposed").requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch advises clone().detach().
        made = trial.call(given * 1, device=trial.device)
        wanted = trial.call(given, device=trial.device, requires_grad=True)
    trial.equal([made.requires_grad, wanted.requires_grad, wanted.is_leaf], [False, True, True])
    trial.check(wanted.data_ptr() != given.data_ptr(), "the copy shares the memory of the original")
    with torch.no_grad():
        given.zero_()
    trial.exact(made, values, dtype)
    trial.exact(wanted, values, dtype)


def tensor_default_dtype(trial: Trial) -> None:
    """Floating and complex numbers get the default dtype, or the complex one of its precision; others do not."""
    third = 1 / 3
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        made = [trial.call(data, device=trial.device) for data in ([[third], [-2]], [third, 2j], [1, 2], [True], [])]
    finally:
        torch.set_default_dtype(before)
    expected = ([[third], [-2]], [third, 2j], [1, 2], [True], [])
    for found, values, dtype in zip(made, expected, ("float64", "complex128", "int64", "bool", "float64")):
        trial.exact(found, np.array(values, dtype), dtype)


def tensor_of_parts(trial: Trial) -> None:
    """Lists of arrays, NumPy numbers, ranges and tensors of one number are read like lists of numbers."""
    rows = trial.random(3, 5, dtype="float64", seed=3)
    parts = [trial.tensor(np.array(value)) for value in (1.5, 2.5)]
    for data, values, dtype in (
        (list(rows), rows, "float64"),
        ([np.float32(0.5), np.float32(-3)], [0.5, -3], "float32"),
        ([(np.int64(7), 8), range(2)], [[7, 8], [0, 1]], "int64"),
        (parts, [1.5, 2.5], "float64"),
        (rows[:, ::2], rows[:, ::2], "float64"),
        (np.float64(0.1), 0.1, "float64"),
    ):
        trial.exact(trial.call(data, device=trial.device), np.array(values, dtype), dtype)


def tensor_of_many(trial: Trial, length: int, dtype: str) -> None:
    """A long list of numbers arrives complete and in order."""
    numbers = [number * 0.5 - 3.0 for number in range(length)]
    made = trial.call(numbers, dtype=trial.dtype(dtype), device=trial.device)
    trial.exact(made, np.arange(length) * 0.5 - 3.0, dtype=dtype)


def tensor_with_gradient(trial: Trial, dtype: str) -> None:
    """With requires_grad=True the tensor is a leaf; the gradient of its sum of squares is twice its values."""
    values = [[0.5, -1.5, 2.0], [4.0, 0.25, -3.0]]
    made = trial.call(values, dtype=trial.dtype(dtype), device=trial.device, requires_grad=True)
    trial.check(made.is_leaf and made.requires_grad, "the tensor is not a leaf that requires a gradient")
    (made**2).sum().backward()
    trial.close(made, values, dtype=dtype)
    trial.close(made.grad, 2 * np.array(values), dtype=dtype)


def randperm(trial: Trial, length: int, dtype: str) -> None:
    """Every number from 0 to n - 1 occurs once."""
    made = trial.call(length, dtype=trial.dtype(dtype), device=trial.device)
    check_permutation(trial, made, length, dtype)


def randperm_with_default(trial: Trial, length: int, default: str) -> None:
    """The permutation is of int64 whatever PyTorch's default dtype is, and of another dtype only if it is asked for."""
    before = torch.get_default_dtype()
    trial.repeatable = False
    torch.set_default_dtype(trial.dtype(default))
    try:
        made = trial.call(length, device=trial.device)
        other = trial.call(length, dtype=trial.dtype("int32"), device=trial.device)
    finally:
        torch.set_default_dtype(before)
    check_permutation(trial, made, length, "int64")
    check_permutation(trial, other, length, "int32")


def randperm_uniform(trial: Trial, length: int) -> None:
    """Without options the numbers are int64. In a long permutation, numbers correlate neither with places nor
    neighbors."""
    made = trial.call(length, device=trial.device)
    check_permutation(trial, made, length, "int64")
    found = trial.numpy(made)
    _check_unrelated(trial, found, np.arange(length), "place")
    check_independent((found - found.mean()) / found.std())
    fixed = int((found == np.arange(length)).sum())
    # The count of numbers at their own place is nearly Poisson with mean 1: 13 or more in 6 of 10 billion cases.
    trial.check(fixed < 13, f"{fixed} of {length} numbers are at their own place")


def randperm_orders(trial: Trial, length: int, draws: int) -> None:
    """Of a few numbers every order is equally likely, and independent of the one before."""
    first = trial.call(length, device=trial.device)
    check_permutation(trial, first, length, "int64")
    known = list(itertools.permutations(range(length)))
    found = _permutations(trial, length, draws)
    check_categories([known.index(tuple(order.tolist())) for order in found], [1] * len(known))


def _permutations(trial: Trial, length: int, draws: int) -> Sequence[Any]:
    """Draws many permutations with the function under test, in one timed body."""
    trial.repeatable = False
    drawn = trial.call_inside(lambda function: [function(length, device=trial.device) for _ in range(draws)])
    return [trial.numpy(each) for each in drawn]


def randperm_parts(trial: Trial, length: int, draws: int) -> None:
    """Every number is equally likely at every place: as many numbers as expected stay where they are, in their tile of
    some width, and in what is left after the last full tile."""
    check_permutation(trial, trial.call(length, device=trial.device), length, "int64")
    found = np.stack(_permutations(trial, length, draws))
    places = np.arange(length)
    _check_stays(found == places, draws, "stay at their place")
    for width in (2**power for power in range(1, length.bit_length())):
        tiles = places // width
        shares = np.bincount(tiles)[tiles] / length
        _check_stays(found // width == tiles, draws * shares.sum(), f"stay in their tile of {width}")
        begin = length - (length % width or width)
        rest = found[:, begin:]
        count, all_rest = length - begin, f"of the last {length - begin}"
        _check_stays(rest == places[begin:], draws * count / length, f"{all_rest} stay at their place")
        _check_stays(rest >= begin, draws * count**2 / length, f"{all_rest} stay among the last")


def _check_stays(stays: Any, expected: float, which: str) -> None:
    # The counts are nearly Poisson or narrower. The addition is for the longer tail of small counts.
    count, allowed = int(stays.sum()), 6 * expected**0.5 + 6
    if abs(count - expected) > allowed:
        raise AssertionError(
            f"{count} numbers {which}, expected {expected:.1f} with a difference of at most {allowed:.1f}"
        )


def randperm_generator(trial: Trial, length: int) -> None:
    """A generator determines the order: the same seed gives the same order, another seed a different one."""

    def made(seed: int, repeatable: bool) -> Any:
        trial.repeatable = repeatable
        generator = torch.Generator(device=trial.device)
        generator.manual_seed(seed)
        order = trial.call(length, generator=generator, device=trial.device)
        check_permutation(trial, order, length, "int64")
        trial.repeatable = False
        following = trial.numpy(trial.call(length, generator=generator, device=trial.device))
        trial.check((following != trial.numpy(order)).any(), "the generator gives the same order again")
        return np.concatenate([trial.numpy(order), following])

    first = made(1, True)
    torch.manual_seed(99)
    trial.equal(made(1, False), first)
    trial.check((made(2, False) != first).any(), "another seed gives the same order")


def check_permutation(trial: Trial, made: Any, length: int, dtype: str) -> None:
    trial.equal((trial.dtype_name(made), list(made.shape)), (dtype, [length]))
    found = trial.numpy(made)
    trial.equal(np.sort(found), np.arange(length))
    trial.check(length < 20 or (np.diff(found) != 1).any(), "the numbers are in their natural order")
    # 16 numbers in a row rise or fall in one of 10**13 cases, anywhere among a million in one of 10**7.
    steps = np.sign(np.diff(found.astype("float64")))
    for kind in (1, -1):
        turns = np.flatnonzero(np.concatenate([[True], steps != kind, [True]]))
        trial.check(int(np.diff(turns).max()) < 16, "16 numbers in a row are in order")


def _check_unrelated(trial: Trial, one: Any, other: Any, name: str) -> None:
    related = float(np.corrcoef(one, other)[0, 1])
    trial.check(abs(related) <= _SIGMAS / len(one) ** 0.5, f"number and {name} are correlated: {related:.3g}")
