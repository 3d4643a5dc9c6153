"""Errors of methods of modules, and of functions that take a module: their documentation names the error."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.public import names
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


def forward(
    trial: Trial, made: Sequence[Any], inputs: Sequence[Any], raises: Mapping[str, Any], options: Mapping[str, Any] = {}
) -> None:
    """A module of the class, made of ``made`` and ``options``, raises the error when it is called with the inputs."""
    builder = Builder(trial, names.framework(trial.framework))
    module = trial.make(*(item.device for item in builder.all(made)), **options).to(trial.device)
    given = [item.device for item in builder.all(inputs)]
    trial.method_raises(module, "__call__", _classes(raises), raises["message"], *given)


def of_module(trial: Trial, args: Sequence[Any], raises: Mapping[str, Any]) -> None:
    """The method of torch.nn.Module raises the error for a module with a ``weight`` and a ``bias``."""
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    trial.raises(_classes(raises), raises["message"], torch.nn.Linear(2, 3), *given)


def _classes(raises: Mapping[str, Any]) -> Sequence[str]:
    found = raises["class"]
    return [found] if isinstance(found, str) else found
