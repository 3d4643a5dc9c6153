"""Calls with combinations of options."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Mapping

from runners.core.testing import cases
from runners.core.testing import combinations as core
from runners.core.testing.trial import Trial
from runners.jax import together as joined

_MOST_OF_ALL = 9
"""JAX compiles a program for each combination."""


def combinations(trial: Trial, together: bool = False, most: int = _MOST_OF_ALL, **parameters: Any) -> None:
    """See runners.core.testing.combinations.combinations. ``together``: the calls are in one compiled program, of a
    case that makes one call."""
    if together:
        _together(trial, most=most, **parameters)
    else:
        core.combinations(trial, most=most, **parameters)


def _together(trial: Trial, case: str, **parameters: Any) -> None:
    core.skip_predicted(trial)
    check = cases.case(case if case == "call" else f"jax.{case.replace('.', ':')}")

    def of(choice: Mapping[str, Any], each: Mapping[str, Any], trial: Any) -> None:
        try:
            check(trial, **each)
        except AssertionError:
            print("combination", json.dumps(choice))
            raise

    joined.together(trial, [partial(of, choice, each) for choice, each in core.parameters(**parameters)])
    trial.has_random_inputs = False  # other values would compile the same program again
