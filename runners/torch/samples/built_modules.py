"""Modules that a body makes and calls: the constructor is the function under test."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

import torch

from runners.core.testing import tree
from runners.torch.samples import internal


class Built(NamedTuple):
    """A body that makes a module of these arguments and calls it with what it gets; without ``calls``, only makes it.

    The module is in training mode, on the device of the call's tensors, in the dtype of the first floating one. Its
    parameters are those that it draws itself with a fixed seed. The result is the output with all buffers; with
    ``gradients``, also the gradients of the sum of the output with respect to the parameters."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    calls: bool = True
    gradients: bool = False

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.random.fork_rng(devices=[]):
            internal.seed()
            module = function(*self.args, **self.kwargs)
        if not self.calls:
            return None
        tensors = [leaf for leaf in tree.leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if tensors:
            like = next(filter(_is_floating, tensors), None)
            module = module.to(tensors[0].device, None if like is None else like.dtype)
        output = module.train()(*args, **kwargs)
        buffers = list(module.buffers())
        if not self.gradients:
            return output, buffers
        parameters = [each for each in module.parameters() if each.requires_grad]
        roots = [leaf for leaf in tree.leaves(output) if _is_floating(leaf) and leaf.requires_grad]
        if not (roots and parameters):
            return output, buffers
        found = torch.autograd.grad([root.sum() for root in roots], parameters, retain_graph=True, allow_unused=True)
        return output, buffers, [each for each in found if each is not None]


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())
