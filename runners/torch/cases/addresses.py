"""torch.Tensor.data_ptr: the address of the first element."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.trial import Trial


def address(trial: Trial, shape: Sequence[int], dtype: str, layout: str = "contiguous") -> None:
    """The address is that of the first element: the storage's address plus the offset of a view."""
    tensor = trial.tensor(trial.random(*shape, dtype=dtype), dtype, layout)
    found, step = trial.call(tensor), tensor.element_size()
    begin = tensor.storage().data_ptr()
    _check_address(trial, found, begin)
    _check_address(trial, trial.call(tensor[1:]), begin + step * tensor.stride(0))
    _check_address(trial, trial.call(tensor[2, 3:]), begin + step * (2 * tensor.stride(0) + 3 * tensor.stride(1)))


def address_of_views(trial: Trial) -> None:
    """Views of the whole tensor and changes in place keep the address, other views have that of their first element,
    and a copy has another one."""
    tensor = trial.tensor(trial.random(4, 6))
    found, begin = trial.call(tensor), tensor.storage().data_ptr()
    _check_address(trial, found, begin)
    for view in (
        tensor.detach(),
        tensor.T,
        tensor.view(-1),
        tensor.unsqueeze(0),
        tensor.add_(1),
        tensor.expand(2, 4, 6),
    ):
        _check_address(trial, trial.call(view), begin)
    for view, offset in (
        (tensor[:, 2::3], 2),
        (tensor[1::2].T, 6),
        (tensor.narrow(1, 4, 2), 4),
        (tensor.view(-1)[7:9].view(torch.int32), 7),
        (tensor.as_strided((2, 2), (1, 6), 9), 9),
        (tensor[3, 5], 23),
        (torch.nn.Parameter(tensor[2:]).data, 12),
    ):
        _check_address(trial, trial.call(view), begin + 4 * offset)
    number = trial.tensor(trial.random(3, dtype="complex64"))
    _check_address(trial, trial.call(number.imag), number.storage().data_ptr() + 4)
    other = trial.tensor(trial.random(9))
    other.set_(tensor[1])
    _check_address(trial, trial.call(other), begin + 24)
    copy = tensor.clone()
    _check_address(trial, trial.call(copy), copy.storage().data_ptr())
    trial.check(trial.make(copy) != begin, "a copy has the address of its original")


def address_of_empty(trial: Trial) -> None:
    """A tensor without elements has address 0; a tensor with one element has its own address."""
    _check_address(trial, trial.call(trial.tensor(np.zeros((0, 3), "float32"))), 0)
    scalar = trial.tensor(np.array(2.5))
    _check_address(trial, trial.call(scalar), scalar.storage().data_ptr())


def address_of_replaced(trial: Trial) -> None:
    """Where the elements move, the address moves too: after set_, a change of the view in place and an
    assignment to .data it is that of the present first element."""
    tensor, other, small = (trial.tensor(trial.random(*shape)).clone() for shape in ((4, 6), (5, 7), (2, 3)))
    view, parameter = tensor[1:], torch.nn.Parameter(tensor)
    begin, second = tensor.storage().data_ptr(), other.storage().data_ptr()
    for held, offset in ((tensor, 0), (view, 24), (parameter, 0)):
        _check_address(trial, trial.call(held), begin + offset)
    parameter.data = other[2]
    _check_address(trial, trial.call(parameter), second + 4 * 14)
    _check_address(trial, trial.call(tensor), begin)
    tensor.set_(other[1])
    _check_address(trial, trial.call(tensor), second + 4 * 7)
    _check_address(trial, trial.call(view), begin + 4 * 6)
    tensor.as_strided_((2, 2), (1, 7), 16)
    _check_address(trial, trial.call(tensor), second + 4 * 16)
    tensor.set_()
    _check_address(trial, trial.call(tensor), 0)
    tensor.data = small
    _check_address(trial, trial.call(tensor), small.storage().data_ptr())
    _check_address(trial, trial.call(small), small.storage().data_ptr())


def address_of_resized(trial: Trial) -> None:
    """After resize_ the address is that of the resized memory, also of a tensor that shares it."""
    tensor = trial.tensor(trial.random(2, 3)).clone()
    other = tensor.detach()
    trial.writes = True  # Else the arguments are read as arrays, and PyTorch resizes no memory that an array shares.
    for rows, columns in ((300, 1000), (1, 2), (3, 5)):
        for held in (tensor, other):
            _check_address(trial, trial.call(held), tensor.storage().data_ptr())
        try:
            tensor.resize_(rows, columns)
        except RuntimeError as error:
            if "not resizable" not in str(error):
                raise
            trial.skip("an array shares the memory, since the arguments were read: it cannot be resized")
    for held in (tensor, other):
        _check_address(trial, trial.call(held), tensor.storage().data_ptr())


def address_far(trial: Trial, count: int) -> None:
    """The offset of a view far from the beginning counts in full. To ask for an address is no change: the version, the
    wish for a gradient and the values stay."""
    tensor = torch.empty(count + 64, dtype=torch.uint8, device=trial.device)
    begin = tensor.storage().data_ptr()
    for offset in (count, count + 5, count // 2 + 3):
        _check_address(trial, trial.call(tensor[offset : offset + 9]), begin + offset)
    values = trial.random(4, 3)
    leaf = trial.tensor(values).requires_grad_()
    for one in (leaf, leaf[1:], leaf.detach()):
        before = one._version, one.requires_grad, one.is_leaf
        trial.call(one)
        trial.equal([one._version, one.requires_grad, one.is_leaf], list(before))
    trial.exact(leaf.detach(), values, "float32")


def _check_address(trial: Trial, found: Any, expected: int) -> None:
    trial.check(type(found) is int and found == expected, f"expected the address {expected:#x}, got {found!r}")
