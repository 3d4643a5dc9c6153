"""The order of an output's elements in memory, and the names of its axes: both follow the input."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.made import call_of

_FORMATS: Mapping[int, Any] = {4: torch.channels_last, 5: torch.channels_last_3d}


def follows_input(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
) -> None:
    """Of inputs with channels last in memory the output has channels last, too, and the values of any other order.
    Of contiguous inputs it is contiguous. Each call is made twice, in turns.

    ``made``: the function is a class, whose instance is made of these arguments and the ``named`` ones.
    """
    given, keywords = on_device(trial, args, options)
    call = call_of(trial, made, named)
    tensors = [leaf for leaf in tree.leaves(given) if isinstance(leaf, torch.Tensor) and leaf.dim() in _FORMATS]
    kept = torch.contiguous_format
    last = _FORMATS[tensors[0].dim()]
    if tensors[0].contiguous(memory_format=last).stride() == tensors[0].stride():
        trial.skip("the device has no tensors with channels last in memory")
    outputs = []
    for wanted in (kept, last, kept, last):
        moved = _moved(given, wanted)
        output = call(*moved, **keywords)
        named_format = "channels last" if wanted is last else "contiguous"
        trial.check(
            output.is_contiguous(memory_format=wanted), f"of {named_format} inputs the strides are {output.stride()}"
        )
        outputs.append(trial.numpy(output.detach()).copy())
    for output in outputs[1:]:
        trial.close(trial.tensor(output), outputs[0], rtol=1e-5, atol=1e-5)


def _moved(given: Any, wanted: Any) -> Any:
    if isinstance(given, torch.Tensor):
        return given.contiguous(memory_format=wanted) if given.dim() in _FORMATS else given
    if isinstance(given, (list, tuple)):
        return type(given)(_moved(each, wanted) for each in given)
    return given


def axis_names(
    trial: Trial,
    shape: Sequence[int],
    names: Sequence[str],
    expected: Sequence[str],
    args: Sequence[Any] = (),
    options: Mapping[str, Any] = {},
    dtype: str = "float32",
    parts: int = 0,
) -> None:
    """Of a tensor with names of axes, alone or ``parts`` times in a list, the output has the ``expected`` names, also
    if an axis is chosen by its name, and the values of the same call without names."""
    plain = trial.tensor(trial.random(*shape, dtype=dtype, low=1, high=9), dtype)
    given, keywords = on_device(trial, args, options)
    places = [names.index(each) if isinstance(each, str) else each for each in given]
    wanted = trial.make(*([[plain] * parts] if parts else [plain]), *places, **keywords)
    one = plain.rename(*names)
    output = trial.call(*([[one] * parts] if parts else [one]), *given, **keywords)
    outputs, others = ([each] if isinstance(each, torch.Tensor) else list(each) for each in (output, wanted))
    trial.equal(len(outputs), len(others))
    for found, other in zip(outputs, others):
        trial.check(
            tuple(found.names) == tuple(expected), f"the axes are named {found.names}, expected {tuple(expected)}"
        )
        trial.exact(found.rename(None), trial.numpy(other), trial.dtype_name(other) or "")


def created_with_names(trial: Trial, sizes: Sequence[int], names: Sequence[str]) -> None:
    """A new tensor has the given names of axes, and no names without them. Another number of names raises an error."""
    for given in (names, None, names[::-1]):
        output = trial.call(*sizes, names=given, device=trial.device)
        expected = tuple(given) if given else (None,) * len(sizes)
        trial.check(tuple(output.names) == expected, f"the axes are named {output.names}, expected {expected}")
        trial.exact(output.rename(None), np.zeros(sizes), "float32")
    trial.raises(["RuntimeError"], "number of names", *sizes, names=[*names, "more"])


def size_by_name(trial: Trial, shape: Sequence[int], names: Sequence[str]) -> None:
    """The length of an axis is found by its name, and by its number as before. An unknown name raises an error."""
    tensor = trial.tensor(trial.random(*shape)).rename(*names)
    trial.equal([trial.call(tensor, name) for name in names], list(shape))
    trial.equal([trial.call(tensor, axis) for axis in range(len(shape))], list(shape))
    trial.equal(list(trial.call(tensor)), list(shape))
    trial.raises(["RuntimeError"], "not found", tensor, "other")
