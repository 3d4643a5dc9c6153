"""Backward passes: again through the same graph, for one input alone, and through a backward pass.

The gradients are compared with differences of outputs, so that they need no formula.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled

_STEP = 1e-5
_DIFFERENCES: Any = {"rtol": 1e-6, "atol": 1e-6}
"""A central difference of numbers of about one is known to ten digits, the sum of a thousand of them to seven."""


def gradients(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
    method: str = "__call__",
    constant: Sequence[int] = (),
    training: bool = True,
    second: bool = True,
    draws: bool = False,
) -> None:
    """Gradients are those of the outputs' differences, the same in a second pass through the graph, linear in what
    comes from above, and the same if only one input wants one; with ``second`` they can be differentiated again.

    ``args`` are float64; those at the places ``constant`` want no gradient. ``made``: the function is a class, whose
    instance is made of these arguments and the ``named`` ones. The values are those of the host, unless the function
    ``draws`` and the device has draws of its own.
    """
    data = args, options, made, named, method, constant, training
    work = _Work(trial, trial.call, trial.make, *data)
    outputs = work.outputs()
    if trial.is_on_host or not draws:
        with trial.on_host():
            known = _Work(trial, trial.function, trial.function, *data).outputs()
        for found, expected in zip(outputs, known):
            trial.close(found.detach(), trial.numpy(expected.detach()), rtol=1e-9, atol=1e-9, dtype="float64")
    one, other = (work.above(outputs, seed) for seed in (50, 70))
    first = work.back(outputs, one)
    _check_differences(work, first, one)
    _check_same(trial, work.back(outputs, one), first)
    further = work.back(outputs, other)
    both = [2 * a - b for a, b in zip(one, other)]
    _check_same(trial, work.back(outputs, both), [2 * a - b for a, b in zip(first, further)])
    parts = [work.back([output], [above]) for output, above in zip(outputs, one)]
    _check_same(trial, [sum(part) for part in zip(*parts)], first)
    even = [torch.ones_like(output) for output in outputs]
    repeated = [torch.ones((), dtype=output.dtype, device=output.device).expand(output.shape) for output in outputs]
    _check_same(trial, work.back(outputs, repeated), work.back(outputs, even))
    for leaf, expected in zip(work.leaves, first):
        work.want([leaf])
        alone = work.outputs()
        _check_same(trial, torch.autograd.grad(alone, [leaf], work.matching(one), allow_unused=True), [expected])
    work.want(work.leaves)
    for _ in range(2):
        torch.autograd.backward(work.outputs(), [above.clone() for above in one])
    _check_same(trial, [leaf.grad for leaf in work.leaves], [2 * each for each in first])
    if second:
        _check_second(work, one)


class _Work:
    """A function or an instance, and the tensors that want gradients."""

    def __init__(
        self,
        trial: Trial,
        call: Callable[..., Any],
        make: Callable[..., Any],
        args: Sequence[Any],
        options: Mapping[str, Any],
        made: Sequence[Any] | None,
        named: Mapping[str, Any],
        method: str,
        constant: Sequence[int],
        training: bool,
    ) -> None:
        trial.repeatable = False
        given, keywords = on_device(trial, args, options)
        wanted = [item for place, item in enumerate(given) if place not in constant], keywords
        self.trial = trial
        self._all: list[int] = []
        self.leaves = [leaf for leaf in tree.leaves(wanted) if _is_floating(leaf)]
        self._call: Callable[[], Any] = lambda: call(*given, **keywords)
        if made is not None:
            parts, further = on_device(trial, made, named)
            instance = make(*parts, **further)
            # Only a call through the trial is timed.
            called = trial.call_method if call == trial.call else _method
            if isinstance(instance, torch.nn.Module):
                instance.double().to(trial.device).train(training)
                filled(trial, instance, "float64")
                self.leaves += instance.parameters()
                self._call = lambda: called(instance, method, *given, **keywords)
            else:
                self.leaves += [leaf for leaf in tree.leaves(parts) if _is_floating(leaf)]
                self._call = lambda: called(make(*parts, **further), method, *given, **keywords)
        self.want(self.leaves)

    def want(self, leaves: Sequence[Any]) -> None:
        for leaf in self.leaves:
            leaf.requires_grad_(any(leaf is each for each in leaves))

    def outputs(self) -> list[Any]:
        """The outputs of a call that have a history."""
        torch.manual_seed(3)
        found = [leaf for leaf in tree.leaves(self._call()) if isinstance(leaf, torch.Tensor)]
        self._places = [place for place, leaf in enumerate(found) if leaf.grad_fn is not None]
        self._all = self._all or self._places
        return [found[place] for place in self._places]

    def matching(self, above: Sequence[Any]) -> list[Any]:
        """Of the gradients for the outputs of the first call those that belong to the outputs of the last call."""
        return [each for place, each in zip(self._all, above) if place in self._places]

    def back(self, outputs: Sequence[Any], above: Sequence[Any]) -> list[Any]:
        found = torch.autograd.grad(outputs, self.leaves, above, retain_graph=True, allow_unused=True)
        # A gradient may be a view of what came from above.
        return [torch.zeros_like(leaf) if each is None else each.clone() for each, leaf in zip(found, self.leaves)]

    def difference(self, directions: Sequence[Any], value: Callable[[], Any]) -> Any:
        """The derivative of a number along a direction of all leaves."""
        found = []
        for step in (_STEP, -2 * _STEP):
            self._move(directions, step)
            found.append(float(value().detach()))
        self._move(directions, _STEP)
        return np.array((found[0] - found[1]) / (2 * _STEP))

    def _move(self, directions: Sequence[Any], step: float) -> None:
        for leaf, direction in zip(self.leaves, directions):
            # What a graph has saved stays as it is.
            leaf.data = leaf.data + step * direction

    def above(self, outputs: Sequence[Any], seed: int) -> list[Any]:
        """Random tensors of the shapes of others."""
        arrays = (self.trial.random(*each.shape, dtype="float64", seed=seed + k) for k, each in enumerate(outputs))
        return [self.trial.tensor(array) for array in arrays]


def _method(instance: Any, name: str, *args: Any, **keywords: Any) -> Any:
    return getattr(instance, name)(*args, **keywords)


def _check_differences(work: _Work, found: Sequence[Any], above: Sequence[Any]) -> None:
    directions = work.above(work.leaves, 200)
    for number in range(len(work.leaves)):
        # One leaf moves at a time.
        single = [each * (number == place) for place, each in enumerate(directions)]
        expected = work.difference(single, lambda: _product(work.outputs(), above))
        work.trial.close(_product(found, single).detach(), expected, **_DIFFERENCES)


def _check_second(work: _Work, above: Sequence[Any]) -> None:
    """The gradient of a product with the first gradients is the difference of that product."""
    weights, directions = work.above(work.leaves, 300), work.above(work.leaves, 400)

    def product(entering: Sequence[Any]) -> Any:
        first = torch.autograd.grad(work.outputs(), work.leaves, entering, create_graph=True, allow_unused=True)
        return sum((each * weight).sum() for each, weight in zip(first, weights) if each is not None)

    entering = [each.clone().requires_grad_() for each in above]
    found = torch.autograd.grad(product(entering), [*work.leaves, *entering], allow_unused=True)
    count = len(work.leaves)
    of_leaves = [torch.zeros_like(leaf) if each is None else each for each, leaf in zip(found, work.leaves)]
    expected = work.difference(directions, lambda: product(above))
    work.trial.close(_product(of_leaves, directions).detach(), expected, **_DIFFERENCES)
    expected = work.difference(weights, lambda: _product(work.outputs(), above))
    work.trial.close(_product(found[count:], above).detach(), expected, **_DIFFERENCES)


def _product(one: Sequence[Any], other: Sequence[Any]) -> Any:
    return sum((a * b).sum() for a, b in zip(one, other) if a is not None)


def _check_same(trial: Trial, found: Sequence[Any], expected: Sequence[Any]) -> None:
    for one, other in zip(found, expected):
        trial.close(torch.zeros_like(other) if one is None else one, trial.numpy(other), rtol=1e-10, atol=1e-10)


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
