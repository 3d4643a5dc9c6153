"""Runs one case with combinations of its parameters, all in one test.

A kernel that is right with each option may be wrong with two of them together: most faults of interaction need no more
than two (Kuhn, Wallace and Gallo, Software Fault Interactions and Implications for Software Testing, 2004).
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any, Iterator, Mapping, Sequence

from runners.core.testing import cases
from runners.core.testing.trial import Trial

MOST_OF_ALL = 32
"""Up to so many combinations all of them are tried, of more only enough for every pair of values."""

Choice = Mapping[str, Any]


def combinations(
    trial: Trial,
    case: str,
    over: Mapping[str, Sequence[Any]],
    params: Mapping[str, Any] = {},
    without: Sequence[Choice] = (),
    most: int = MOST_OF_ALL,
) -> None:
    """Runs a case, ``call`` or ``module.name``, once with each combination of the values in ``over``.

    A key of ``over`` is a parameter of the case; or it stands in ``params`` as ``{"over": key}``, which its value
    replaces. Combinations that have all values of an item of ``without`` are left out. They have no steady times.
    The captured output names the one that fails. ``most``: up to so many combinations all of them are tried.

    Skips the test where calls are only predicted: what its values add is not known there, and each call would be
    compiled.
    """
    skip_predicted(trial)
    check = cases.case(case if case == "call" else f"{trial.framework}.{case.replace('.', ':')}")
    trial.repeatable = False
    for choice, each in parameters(over, params, without, most):
        try:
            check(trial, **each)
        except Exception:
            print("combination", json.dumps(choice))
            raise
    # The calls differ from each other already: the same ones with other values would cost as much again.
    trial.has_random_inputs = False


def skip_predicted(trial: Trial) -> None:
    """Skips the test where calls are only predicted."""
    if trial.is_predicted:
        trial.skip("combinations of options are not predicted: other tests have each of them")


def parameters(
    over: Mapping[str, Sequence[Any]],
    params: Mapping[str, Any] = {},
    without: Sequence[Choice] = (),
    most: int = MOST_OF_ALL,
) -> Iterator[tuple[Choice, dict[str, Any]]]:
    """Each combination, and the parameters of the case for it."""
    used = set(_used(params))
    for choice in chosen(over, without, most):
        rest = {key: value for key, value in choice.items() if key not in used}
        yield choice, {**_filled(params, choice), **rest}


def chosen(
    over: Mapping[str, Sequence[Any]], without: Sequence[Choice] = (), most: int = MOST_OF_ALL
) -> list[dict[str, Any]]:
    """All combinations that are allowed, or, of more than ``most``, some that hold each pair of values that one of
    them has."""
    places = itertools.product(*(range(len(values)) for values in over.values()))
    forbidden = [{key: list(over[key]).index(value) for key, value in each.items()} for each in without]
    allowed = [
        place
        for place in (dict(zip(over, numbers)) for numbers in places)
        if not any(each.items() <= place.items() for each in forbidden)
    ]
    some = allowed if len(allowed) <= most else _pairwise(allowed)
    return [{key: over[key][number] for key, number in place.items()} for place in some]


def _pairwise(allowed: Sequence[dict[str, int]]) -> list[dict[str, int]]:
    shuffled = random.Random(0).sample(allowed, len(allowed))
    pairs = [set(itertools.combinations(place.items(), 2)) for place in shuffled]
    missing = set().union(*pairs)
    taken = set()
    # Those that bring many new pairs first, so that few are needed.
    share = 1.0
    while missing:
        for number, having in enumerate(pairs):
            if missing and len(having & missing) >= max(1, share * len(having)):
                taken.add(number)
                missing -= having
        share /= 2
    return [shuffled[number] for number in sorted(taken)]


def _filled(data: Any, choice: Choice) -> Any:
    if isinstance(data, list):
        return [_filled(item, choice) for item in data]
    if not isinstance(data, Mapping):
        return data
    if set(data) == {"over"}:
        return choice[data["over"]]
    return {key: _filled(item, choice) for key, item in data.items()}


def _used(data: Any) -> Iterator[str]:
    if isinstance(data, list):
        for item in data:
            yield from _used(item)
    elif isinstance(data, Mapping):
        if set(data) == {"over"}:
            yield data["over"]
        else:
            for item in data.values():
                yield from _used(item)
