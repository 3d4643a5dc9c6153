"""Instances of layers: their description, their options as attributes, and their hooks in both modes."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.testing import tree
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def facts(
    trial: Trial,
    made: Sequence[Any],
    args: Sequence[Any],
    text: str,
    attributes: Mapping[str, Any] = {},
    named: Mapping[str, Any] = {},
) -> None:
    """The description holds ``text``, and the options can be read. In training and in evaluation, hooks before and
    after the call see its inputs and output, the output of a hook replaces that of the layer, and a removed hook is not
    called anymore."""
    trial.repeatable = False
    parts, options = on_device(trial, made, named)
    layer = trial.make(*parts, **options).to(trial.device)
    trial.check(text in repr(layer), f"{text!r} is not in the description {layer!r}")
    for name, expected in attributes.items():
        found = getattr(layer, name)
        found = list(found) if isinstance(found, tuple) else found
        trial.check(type(found) is type(expected) and found == expected, f"{name} is {found!r}, not {expected!r}")
    given, _ = on_device(trial, args)
    for training in (True, False):
        layer.train(training)
        seen: list[Any] = []

        def before(module: Any, inputs: Any, seen: list[Any] = seen) -> None:
            seen.append(["before", module is layer, inputs[0] is given[0]])

        def after(module: Any, inputs: Any, output: Any, seen: list[Any] = seen) -> Any:
            seen.append(["after", module is layer, inputs[0] is given[0]])
            return [torch.zeros_like(each) for each in tree.leaves(output)]

        handles = [layer.register_forward_pre_hook(before), layer.register_forward_hook(after)]
        output = trial.call_method(layer, "__call__", *given)
        trial.equal(seen, [["before", True, True], ["after", True, True]])
        trial.check(isinstance(output, list), "the output of the hook was not returned")
        for handle in handles:
            handle.remove()
        plain = trial.call_method(layer, "__call__", *given)
        trial.equal([len(seen), isinstance(plain, list)], [2, False])
