"""Calls leave what all code of the process shares as it was."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from runners.core.testing import cases
from runners.core.testing.trial import Trial
from runners.tensorflow.process_settings import process_settings, unusual_settings


def around(trial: Trial, case: str, params: Mapping[str, Any] = {}, but: Sequence[str] = ()) -> None:
    """After another case (``call`` or ``module.name``, with its parameters) the process has the settings, open scopes
    and generators of random numbers that it had before; ``but`` names those that the function may change."""
    with unusual_settings():
        before = process_settings()
        cases.case(case if case == "call" else f"tensorflow.{case.replace('.', ':')}")(trial, **params)
        after = process_settings()
    for name, value in before.items():
        if name not in but:
            trial.check(after[name] == value, f"changed: {name}: {value!r} before, {after[name]!r} after")
