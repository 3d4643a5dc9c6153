"""torch.autograd.Variable: its gradients, and the memory, layout and class of the tensor that it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


def gradients(trial: Trial) -> None:
    """Also where gradients are off, a variable is made that wants one if asked for, with 1 for true. Those of two
    backward passes add up, can be differentiated again, and reach its hooks."""
    values = trial.random(4, dtype="float64", seed=1)
    source = trial.tensor(values).requires_grad_()
    (source * 3).sum().backward()
    for wanted in (True, 1):
        with torch.no_grad():
            made = trial.call(source, requires_grad=wanted)
        trial.equal([made.requires_grad, made.is_leaf, made.grad is None], [True, True, True])
        seen: list[Any] = []
        made.register_hook(lambda gradient, seen=seen: seen.append(trial.numpy(gradient.detach()).copy()))
        for _ in range(2):
            (made**2).sum().backward()
        trial.equal(np.array(seen), np.array([2 * values] * 2))
        trial.close(made.grad, 4 * values, dtype="float64")
        (slope,) = torch.autograd.grad((made**3).sum(), made, create_graph=True)
        (again,) = torch.autograd.grad(slope.sum(), made)
        trial.close(again, 6 * values, dtype="float64")
    with torch.no_grad():
        trial.equal(trial.call(source).requires_grad, False)
    trial.exact(source.grad, np.full(4, 3.0), "float64")


def memory(trial: Trial) -> None:
    """A variable has the memory, strides and pending conjugation of its tensor; that of a parameter is a plain
    tensor."""
    values = trial.random(4, 6, dtype="complex64", seed=2)
    whole = trial.tensor(values)
    for source, expected in (
        (whole.T, values.T),
        (whole[1:, ::2], values[1:, ::2]),
        (whole[:1].expand(3, 6), np.repeat(values[:1], 3, 0)),
        (whole.conj(), values.conj()),
        (whole.conj().imag, -values.imag),
    ):
        made = trial.call(source)
        trial.equal([list(made.stride()), made.storage_offset()], [list(source.stride()), source.storage_offset()])
        trial.equal([made.is_conj(), made.is_neg()], [source.is_conj(), source.is_neg()])
        trial.exact(made, expected, trial.dtype_name(source) or "")
    parameter = torch.nn.Parameter(trial.tensor(trial.random(3, seed=3)))
    made = trial.call(parameter, True)
    trial.check(type(made) is torch.Tensor, f"expected a plain tensor, got {type(made).__name__}")
    trial.equal([made.requires_grad, made.data_ptr()], [True, parameter.data_ptr()])


def class_of_tensors(trial: Trial) -> None:
    """Every tensor is an instance of Variable, whatever its dtype, history and class; other values are none."""
    leaf = trial.tensor(trial.random(3, seed=1)).requires_grad_()
    made = trial.call(leaf, requires_grad=True)
    trial.check(type(made) is torch.Tensor, f"expected a plain tensor, got {type(made).__name__}")
    instances = [made, leaf, leaf * 2, leaf.detach(), torch.nn.Parameter(leaf.detach()), leaf > 0, leaf[:0]]
    trial.equal([isinstance(each, trial.function) for each in instances], [True] * len(instances))
    others = [trial.numpy(leaf.detach()), [1.0], 1.0, "tensor", None, torch.Tensor, torch.nn.Linear(1, 1)]
    trial.equal([isinstance(each, trial.function) for each in others], [False] * len(others))
