"""Another case of the same function, with all its random inputs very small or very large."""

from __future__ import annotations

from typing import Any, Mapping
from unittest import mock

from runners.core.testing.trial import Trial
from runners.torch.cases.turns import case_named


def scaled(trial: Trial, case: str, params: Mapping[str, Any], factor: float) -> None:
    """A case holds for values that are ``factor`` times as large. Those with a range of their own keep it.

    ``case``: the "module.name" of a case, with its ``params``.
    """
    random = trial.random

    def times(*args: Any, **kwargs: Any) -> Any:
        array = random(*args, **kwargs)
        if array.dtype.kind not in "fc" or kwargs.get("low") is not None:
            return array
        return array * array.dtype.type(factor)

    with mock.patch.object(trial, "random", times):
        case_named(case)(trial, **params)
