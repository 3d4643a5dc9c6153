"""The call of a function, or of an instance where the function is a class."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def call_of(trial: Trial, made: Sequence[Any] | None, named: Mapping[str, Any] = {}) -> Callable[..., Any]:
    """The timed call. If ``made`` is given, the function is a class, and an instance on the device is called that is
    made of these arguments and the ``named`` ones."""
    if made is None:
        return trial.call
    instance = trial.make(*on_device(trial, made)[0], **named)
    if isinstance(instance, torch.nn.Module):
        instance = instance.to(trial.device)
    return functools.partial(trial.call_method, instance, "__call__")
